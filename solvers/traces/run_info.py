"""The settings of a run that its trace stores, and their record in files and in the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from ..compute.html_table import html_table
from ..methods.iterate import FIELDS

#: Keys of the record that differ from the name of the attribute.
RECORD_KEYS = {"origin": "from"}


@dataclass(frozen=True)
class RunInfo:
    """Label and settings of a run.

    Attributes
    ----------
    label, solver : str
        The label of the run, and the id of the solver.
    params, problem : mapping
        The solver's hyper-parameters, and the record of the problem, empty if unknown.
    f_star : float or None
        The minimum of f, if known.
    reference : mapping or None
        The record of the source of f*.
    origin : mapping or None
        The record of the iterate from which a branch continues.
    lams : tuple of mappings
        A record of each change of λ during the run.
    warm : bool
        Whether the run did not start at its problem's starting point.
    code : str
        A digest of the plug-in that the solver comes from.
    """

    label: str = "run"
    solver: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    problem: Mapping[str, Any] = field(default_factory=dict)
    f_star: float | None = None
    reference: Mapping[str, Any] | None = None
    origin: Mapping[str, Any] | None = None
    lams: tuple[Mapping[str, Any], ...] = ()
    warm: bool = False
    code: str = ""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return the settings in a record; other fields of the record are ignored."""
        known = {
            f.name: record[key] for f in fields(cls) if (key := RECORD_KEYS.get(f.name, f.name)) in record
        }
        return cls(**{**known, "lams": tuple(known.get("lams", ()))})

    def record(self) -> dict[str, Any]:
        """Return the record for files and the history; optional fields are included if they are set."""
        values = {RECORD_KEYS.get(f.name, f.name): getattr(self, f.name) for f in fields(self)}
        values["lams"] = list(self.lams)
        always = ("label", "solver", "params", "f_star")
        return {key: value for key, value in values.items() if value or key in always}

    def sentence(self, status: str, last: Mapping[str, Any]) -> str:
        """Return a sentence about the state of the run, given its status and its newest record (may be
        empty)."""
        if not last:
            return f"{self.label}: {status}"
        said = f"{self.label}: {status} at iteration {last['iteration']}"
        if FIELDS["objective"].is_known(last["objective"]):
            said += f", f = {last['objective']:.9g}"
        return f"{said}, {last['nnz']:,} non-zeros" if FIELDS["nnz"].is_known(last["nnz"]) else said

    def html(self, status: str, message: str, last: Mapping[str, Any]) -> str:
        """Return the state of the run as an HTML table, with settings and the numbers of the newest
        record."""
        about = self.problem
        said: dict[str, object] = {
            "solver": self.solver,
            "problem": f"{about['dataset']}, {about['loss']} with {about['penalty']}" if about else "",
            "λ": about.get("lam"),
            "message": message,
        }
        for name, kind in FIELDS.items():
            if kind.numeric and kind.is_known(value := last.get(name)):
                said[kind.axis] = f"{value:.6g}"
        return html_table(self.sentence(status, last), said)

    def along(self, iterations: np.ndarray, name: str) -> np.ndarray:
        """Return, for each of these iterations, a number from the record of the last change of λ.

        ``name`` is ``lam``, ``f_star``, or ``iteration``, the first iteration at that λ. Unknown numbers are
        nan.
        """
        start = {"iteration": 0, "lam": self.problem.get("lam"), "f_star": self.f_star}
        numbers = np.array([one[name] for one in (start, *self.lams)], dtype=float)  # None becomes nan
        return numbers[np.searchsorted([one["iteration"] for one in self.lams], iterations, side="right")]
