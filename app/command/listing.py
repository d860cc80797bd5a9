"""What there is to choose from, as plain records: data sets, losses, penalties, solvers, stories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def _datasets() -> Iterator[dict[str, Any]]:
    import datasets

    for entry in datasets.DATASETS.values():
        available, reason = entry.available()
        options = [
            {"name": o.name, "default": o.default, "range": o.allowed, "help": o.help} for o in entry.options
        ]
        lam = entry.lam_for(entry.parse({}))
        yield {
            **_record(entry, available, reason, options),
            "loss": entry.loss,
            "penalty": entry.penalty,
            "kind": entry.kind,
            "file": entry.file,
            "size": entry.size,
            "lam": lam and lam.value,
            "lam_nonzeros": lam and lam.nonzeros,
            "lam_weights": lam and lam.weights,
            "lam_metric": lam and lam.metric,
        }


def _classes(table: str) -> Iterator[dict[str, Any]]:
    import solvers

    for cls in getattr(solvers, table).values():
        options = [
            {"name": p.name, "default": p.default, "range": p.range, "help": p.help}
            for p in solvers.parameters(cls)
        ]
        reason = cls.why_not_here() if table == "SOLVERS" else None
        yield _record(cls, reason is None, reason, options)


def _stories() -> Iterator[dict[str, Any]]:
    from ..settings.recipe import why_not_data
    from ..stories import stories

    for story in stories().values():
        reason = why_not_data(story.setting.problem.data)
        yield _record(story, reason is None, reason, [])


def _record(thing: Any, available: bool, reason: str | None, options: list[dict[str, Any]]) -> dict[str, Any]:
    texts = {key: getattr(thing, key, "") for key in ("id", "name", "summary", "paper")}
    return {**texts, "available": available, "reason": reason, "options": options}


KINDS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "datasets": _datasets,
    "losses": lambda: _classes("LOSSES"),
    "penalties": lambda: _classes("PENALTIES"),
    "solvers": lambda: _classes("SOLVERS"),
    "stories": _stories,
}


def entries(kind: str) -> list[dict[str, Any]]:
    """Return all entries of one of ``KINDS``, with the fields of the command line's contract.

    Raises ValueError for another kind. Loads no data, and solvers only where they are listed.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no list of {kind!r}: choose one of {', '.join(KINDS)}")
    return list(KINDS[kind]())
