"""Lists of data sets, losses, solvers, views and other registered objects, as plain records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from solverscope.ids import unknown_id


def _datasets() -> Iterator[dict[str, Any]]:
    from solverscope import datasets

    for entry in datasets.DATASETS.values():
        _, reason = entry.available()
        lam = entry.lam_for(entry.parse({}))
        yield {
            **_record(entry, reason, ((option, option.allowed) for option in entry.options)),
            **{name: getattr(entry, name) for name in ("loss", "penalty", "kind", "file", "size")},
            "lam": lam and lam.value,
            **{f"lam_{name}": lam and getattr(lam, name) for name in ("nonzeros", "weights", "metric")},
        }


def _classes(table: str) -> Iterator[dict[str, Any]]:
    from solverscope import solvers
    from solverscope.solvers.declare import unmet_needs

    for cls in getattr(solvers, table).values():
        reason = cls.why_not_here() if table == "SOLVERS" else None
        record = _record(cls, reason, ((p, p.range) for p in solvers.parameters(cls)))
        if table == "SOLVERS":  # in words, as refusals have them
            record["needs"] = unmet_needs(cls.needs, solvers.Trait(0), getattr(cls, "formulas", None))
        yield record


def _stories() -> Iterator[dict[str, Any]]:
    from ..settings.recipe import why_not_data
    from ..stories import left_out, stories

    left_out()
    for story in stories().values():
        yield _record(story, why_not_data(story.setting.problem.data))


def _views() -> Iterator[dict[str, Any]]:
    from ..views import ABOVE_TABS, TABS

    for view in (*ABOVE_TABS, *TABS.values()):
        what = " ".join((view.__doc__ or "").split()).partition(". ")[0]
        yield {**_record(view, None), "name": view.title, "summary": f"{view.title}: {what}"}


def _rules() -> Iterator[dict[str, Any]]:
    from solverscope import solvers

    for rule in solvers.RULES.values():
        yield _record(rule, None)


def _fields() -> Iterator[dict[str, Any]]:
    from solverscope import solvers

    for name, field in solvers.FIELDS.items():
        kind = {int: "whole number", float: "number", str: "word", tuple: "words"}[field.type]
        yield {**_record(field, None), "id": name, "name": field.title, "summary": field.axis, "kind": kind}


def _traits() -> Iterator[dict[str, Any]]:
    from solverscope import solvers

    offering = {**solvers.LOSSES, **solvers.PENALTIES}
    for trait in solvers.Trait:
        yield {
            **_record(trait, None),
            "id": trait.name,
            "name": f"Trait.{trait.name}",
            "summary": trait.phrase,
            "offered_by": [id for id, cls in offering.items() if trait in cls.traits],
            "needed_by": [
                id
                for id, cls in solvers.SOLVERS.items()
                if trait in cls.needs | getattr(cls, "formulas", solvers.Trait(0))
            ],
        }


def _record(thing: Any, reason: str | None, declared: Iterable[tuple[Any, str]] = ()) -> dict[str, Any]:
    """Return the fields that all entries have; ``declared`` lists options, each with its allowed values in
    words."""
    texts = {key: getattr(thing, key, "") for key in ("id", "name", "summary", "paper")}
    options = [{"name": o.name, "default": o.default, "range": said, "help": o.help} for o, said in declared]
    return {**texts, "available": reason is None, "reason": reason, "options": options}


LISTINGS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "datasets": _datasets,
    "losses": lambda: _classes("LOSSES"),
    "penalties": lambda: _classes("PENALTIES"),
    "solvers": lambda: _classes("SOLVERS"),
    "stories": _stories,
    "views": _views,
    "rules": _rules,
    "fields": _fields,
    "traits": _traits,
}

#: The noun for an entry of each list.
NOUNS = {
    "datasets": "data set",
    "losses": "loss",
    "penalties": "penalty",
    "solvers": "solver",
    "stories": "story",
    "views": "view",
    "rules": "rule",
    "fields": "field",
    "traits": "trait",
}


def entries(kind: str, ids: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return all entries of one of ``LISTINGS``, or those with the given ids, with documented fields.

    Raises ValueError for an unknown kind or id. No data are loaded, and solvers are only imported if they are
    listed.
    """
    if kind not in LISTINGS:
        raise ValueError(unknown_id("list of", kind, LISTINGS))
    found = {entry["id"]: entry for entry in LISTINGS[kind]()}
    for id in ids:
        if id not in found:
            raise ValueError(unknown_id(NOUNS[kind], id, found))
    return [found[id] for id in ids or found]
