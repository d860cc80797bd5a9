"""The sentence that refuses an id that nothing has."""

from __future__ import annotations

from collections.abc import Iterable


def unknown_id(noun: str, id: str, known: Iterable[str], others: str = "") -> str:
    """Return the sentence that refuses an id, with the nearest one if one is near, and all of them.

    ``others`` says what else may be written.

    Examples
    --------
    >>> unknown_id("solver", "lbfsg", ["lbfgs", "owl-qn"])
    "there is no solver 'lbfsg' (did you mean lbfgs?): choose one of lbfgs, owl-qn"
    """
    ids = [*known]
    return f"there is no {noun} {id!r}{nearest(id, ids)}: choose one of {', '.join(ids)}{others}"


def nearest(id: str, known: Iterable[str]) -> str:
    """Return the question whether the known id that is nearest was meant, in parentheses; empty if none is
    near."""
    from difflib import get_close_matches  # only where something is wrong

    near = get_close_matches(id.lower(), [*known], n=1)
    return f" (did you mean {near[0]}?)" if near else ""
