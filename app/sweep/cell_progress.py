"""The progress of a cell of a sweep: its state, and a trace that grows while a worker runs the cell."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from solverscope.app.runs.packing import unpack_rows
from solverscope.app.settings import wording
from solverscope.app.settings.experiment import Experiment
from solverscope.solvers import RunInfo, Trace
from solverscope.solvers.runs.lam_path import TEST_MEASURES
from solverscope.solvers.traces import records
from solverscope.solvers.traces.records import (
    COUNT,
    COUNT_OR_NULL,
    NAME,
    NUMBER_OR_NULL,
    TABLE,
    TEXT,
    TEXT_OR_NULL,
)

#: Statuses of cells that are run again when a sweep is resumed; they are states as well.
RERUN_STATES = ("failed", "stopped")
#: States that are final unless the cell is run again.
FINAL_CELL_STATES = ("finished", *RERUN_STATES)
#: Fields that the record of a cell copies from the result of its run.
CELL_RESULT_FIELDS = (
    *("objective", "violation", "dual_gap", "nnz", "nnz_rows", "iterations", "passes", "cpu_seconds"),
    *("wall_seconds", "setup_seconds", "compile_seconds", "train_metric", "test_metric", "metric_name"),
    *TEST_MEASURES,
)
#: Fields that the record of a cell copies from the problem of its run.
CELL_PROBLEM_FIELDS = ("n_samples", "n_features", "n_outputs", "n_params", "lam_max", "key")
#: The record of a cell that has ended, field by field.
RECORD = {
    **dict.fromkeys(("type", "cell", "dataset", "penalty", "label", "solver", "status"), NAME),
    **{"options": TABLE, "seed": COUNT, "loss": TEXT_OR_NULL, "params": TABLE, "message": TEXT},
    **dict.fromkeys(("lam", "lam_ratio", "f_star"), NUMBER_OR_NULL),
    **{name: records.RESULT_KINDS.get(name, TEXT_OR_NULL) for name in CELL_RESULT_FIELDS},
    **dict.fromkeys(TEST_MEASURES, NUMBER_OR_NULL),
    "problem": records.record_of(
        {**dict.fromkeys(CELL_PROBLEM_FIELDS, COUNT_OR_NULL), "lam_max": NUMBER_OR_NULL, "key": TEXT_OR_NULL}
    ),
}
#: Fields that every record has; records of older versions lack some metrics.
REQUIRED_CELL_FIELDS = tuple(name for name in RECORD if name not in TEST_MEASURES)


class CellProgress:
    """The state and the trace of one cell of a sweep.

    The state is one of waiting, loading, compiling, running, paused, finished, failed, stopped. One thread
    appends rows that the worker sends; others may read.
    """

    def __init__(self, cell: Experiment) -> None:
        self.cell = cell
        self.trace: Trace | None = None
        self.state, self.status, self.message, self.worker = "waiting", "", "", ""
        self.record: dict[str, Any] = {}
        self._attempt, self._given_up = "", set[str]()

    @property
    def alive(self) -> bool:
        """Return whether the state may still change."""
        return self.state not in FINAL_CELL_STATES

    @property
    def word(self) -> str:
        """Return the state in a word or two; for a finished run, how it ended."""
        return wording.of_ending(self.status, self.record) if self.state == "finished" else self.state

    def take(self, message: Mapping[str, Any]) -> None:
        """Append the rows in a message of a :class:`.cell_reporter.CellReporter` to the trace.

        The first message of a new attempt discards the rows of the previous one. Rows that do not continue
        the trace are ignored, as the final result contains them.
        """
        attempt = message["attempt"]
        if attempt in self._given_up or not self.alive:
            return
        if attempt != self._attempt:
            self._given_up.add(self._attempt)
            self._attempt = attempt
            if self.trace is not None:
                self.trace.restart()
        self.state, self.worker = message["state"], message["worker"]
        if "about" in message:
            self._describe(message["about"])
        if "rows" in message and self.trace is not None:
            if message["first"] == 0:  # its beginning, or thinned at the other end
                self.trace.restart()
            if message["first"] == len(self.trace):
                self._append(unpack_rows([message["rows"]]))
        if self.trace is not None and self.state not in ("loading", "paused"):
            self.trace.status = self.state

    def end(self, outcome: Mapping[str, Any]) -> None:
        """Store the result of :func:`.cells.run`: the whole trace and how the run ended."""
        self._describe(outcome["about"])
        rows = unpack_rows([outcome["rows"]])
        if len(rows["iteration"]) != len(self.trace) or outcome["attempt"] != self._attempt:
            self.trace.restart()
            self._append(rows)
        self.trace.test_metric = [tuple(measured) for measured in outcome["metrics"]]
        self.trace.result = dict(outcome["result"])
        self.trace.finish(outcome["status"], outcome["message"])
        self._over(outcome["status"], outcome["message"])

    def fail(self, message: str, status: str = "failed") -> None:
        """End the cell without a result; the rows received so far are kept."""
        if self.trace is not None:
            self.trace.finish(status, message)
        self._over(status, message)

    def recall(self, record: Mapping[str, Any]) -> None:
        """Restore the final state of a cell that ended earlier from its record."""
        self.record, self.status, self.message = dict(record), record["status"], record["message"]
        # last: whoever sees it finds the record
        self.state = self.status if self.status in RERUN_STATES else "finished"

    def _describe(self, about: str) -> None:
        info = RunInfo.of(json.loads(about))
        if self.trace is None:
            self.trace = Trace(info)
        self.trace.change(lambda known: replace(info, label=known.label))

    def _append(self, columns: Mapping[str, Sequence[Any]]) -> None:
        for row in zip(*columns.values(), strict=True):
            self.trace.append(dict(zip(columns, row, strict=True)))

    def _over(self, status: str, message: str) -> None:
        recipe, entrant = self.cell.problem, self.cell.entrant
        result = self.trace.result if self.trace is not None else {}
        problem = self.trace.info.problem if self.trace is not None else {}
        f_star = self.trace.info.f_star if self.trace is not None else None
        record = {
            "type": "cell",
            "cell": self.cell.key,
            "dataset": recipe.data,
            **{name: getattr(recipe, name) for name in ("options", "seed", "penalty")},
            "loss": problem.get("loss", recipe.loss),
            "lam": problem.get("lam", recipe.lam),
            "lam_ratio": recipe.lam_ratio,
            **{"label": entrant.label, "solver": entrant.id, "params": asdict(entrant.make())},
            "f_star": f_star,
            "status": status,
            "message": message,
            **{name: result.get(name) for name in CELL_RESULT_FIELDS},
            "problem": {name: problem.get(name) for name in CELL_PROBLEM_FIELDS},
        }
        self.recall(record)
