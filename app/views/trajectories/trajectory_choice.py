"""The selection of the weights that are drawn, among those that a probe records."""

from __future__ import annotations

import re

import numpy as np

from solverscope.app import ui
from solverscope.app.views.base.probe_view import Seen
from solverscope.app.views.base.states import name_of
from solverscope.solvers import Trace
from solverscope.solvers.probes.subsets import rank

#: How weights are chosen: names in the menu.
WEIGHT_SELECTIONS = {"largest": "largest", "random": "random", "by name": "named"}
#: Outputs offered, at most, and the word for the weights behind W.
MAX_OFFERED_OUTPUTS = 100
TRANSITIONS = "transitions"
#: Separator of two names: a comma, but not that in "pixel (3, 6)".
NAME_SEPARATOR = re.compile(r",(?![^(]*\))")


class Followed:
    """The weights of a run that a probe records.

    ``members`` are their indices in w, which has ``size`` weights, and ``values`` their values at an iterate.
    """

    def __init__(self, trace: Trace, seen: Seen) -> None:
        self.trace, self.members, self.values = trace, seen["members"], seen["values"]
        self.size = int(seen["size"])

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of features and outputs, the rows and columns of W."""
        about = self.trace.info.problem
        return about.get("n_features", self.size), about.get("n_outputs", 1)

    def outputs(self) -> dict[str, int]:
        """Return the indices of the outputs by name, followed by the transitions, if there are any."""
        features, outputs = self.shape
        found = {self.trace.names.output(c): c for c in range(min(outputs, MAX_OFFERED_OUTPUTS))}
        return found | ({TRANSITIONS: outputs} if self.size > features * outputs else {})

    def choose(self, kind: str, count: int, output: int, named: str) -> tuple[np.ndarray, str]:
        """Select at most ``count`` weights of one output.

        These are the largest, random ones with a fixed seed, or those of the features that ``named`` lists by
        names or numbers. Returns their indices in the observation, and a message on those that cannot be
        drawn.
        """
        features, outputs = self.shape
        body = self.members < features * outputs
        mine = np.flatnonzero(body & (self.members % outputs == output) if output < outputs else ~body)
        if kind == "named":
            return self._named(mine, named, count)
        if kind == "random":
            order = np.argsort(rank(self.members[mine]), kind="stable")
        else:
            order = np.argsort(-np.abs(self.values[mine]), kind="stable")
        return np.sort(mine[order[:count]]), ""

    def _named(self, mine: np.ndarray, named: str, count: int) -> tuple[np.ndarray, str]:
        asked = [text.strip() for text in NAME_SEPARATOR.split(named) if text.strip()]
        _, outputs = self.shape
        features = {int(k) // outputs: int(place) for k, place in zip(self.members[mine], mine, strict=True)}
        by_name = {self.trace.names.feature(j).lower(): place for j, place in features.items()}
        found, missing = [], []
        for text in asked:
            number = int(text) - 1 if text.isdigit() else -1
            place = by_name.get(text.lower(), features.get(number))
            if place is None:
                missing.append(text)
            else:
                found.append(place)
        said = self._missing(", ".join(missing)) if missing else ""
        if not asked:
            said = "Give names or numbers (from 1) of features, separated by commas."
        return np.unique(np.array(found[:count], dtype=np.int64)), said

    def _missing(self, named: str) -> str:
        """Return a message on requested features that do not exist or are not recorded."""
        followed, size = ui.number(self.members.size), ui.number(self.size)
        if self.members.size == self.size:
            return f"There is no feature with this name or number: {named}."
        return (
            f"Not recorded: {named}. Of {size} weights {followed} are recorded: a random sample, and the "
            "largest since they were first found."
        )

    def names(self, places: np.ndarray) -> list[str]:
        """Return the names of weights, given their indices in the observation."""
        return [name_of(self.trace, int(k)) for k in self.members[places]]
