"""The error message for an unknown id."""

from __future__ import annotations

from collections.abc import Iterable


def unknown_id(noun: str, id: str, known: Iterable[str], others: str = "") -> str:
    """Return the error message for an unknown id, with the most similar id, if any, and a list of all ids.

    ``others`` is appended, and describes what else is possible.

    Examples
    --------
    >>> unknown_id("solver", "lbfsg", ["lbfgs", "owl-qn"])
    "there is no solver 'lbfsg' (did you mean lbfgs?): choose one of lbfgs, owl-qn"
    """
    ids = [*known]
    return f"there is no {noun} {id!r}{nearest(id, ids)}: choose one of {', '.join(ids)}{others}"


def nearest(id: str, known: Iterable[str]) -> str:
    """Return " (did you mean ID?)" for the most similar known id; empty if none is similar."""
    from difflib import get_close_matches  # only where something is wrong

    near = get_close_matches(id.lower(), [*known], n=1)
    return f" (did you mean {near[0]}?)" if near else ""
