"""States of the weights (or other variables) of a working set at an iterate.

A variable may be removed by a guess or a proof, in the set, nonzero, or returned.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from solverscope.app import ui
from solverscope.app.views.base.probe_view import Seen
from solverscope.solvers import ACTIVE, SHRINKING, Trace
from solverscope.solvers.probes.subsets import (
    INSIDE,
    MAX_SUBSET_BYTES,
    OUTSIDE,
    UNKNOWN,
    contains,
    known_members,
)

#: Colours of the states of a variable, in the order of their codes.
STATE_COLORS = ("#88888822", "#56B4E999", ui.COLORS[0], ui.COLORS[1], f"{ui.COLORS[2]}66")
SHRUNK, ZERO, NONZERO, RETURNED, PROVED = range(5)
#: States outside the working set.
OUTSIDE_STATES = (SHRUNK, PROVED)
#: Code of a variable that was not observed at this iterate.
UNSEEN = len(STATE_COLORS)


class VariableKind(NamedTuple):
    """Words for the variables of a working set: plural, singular, at the bound, off the bound, and a name for
    each."""

    many: str
    one: str
    at_bound: str
    free: str
    name: Callable[[Trace, int], str]

    def states(self, *, proofs: bool = False) -> dict[str, str]:
        """Return the colours of the states of a variable by name; one state exists only for rules with
        ``proofs``."""
        back = f"returned, {self.free}"
        words = ("left out by a guess" if proofs else "shrunk", f"in the working set and {self.at_bound}")
        words += (self.free, back, *(["proved to be zero: never back"] if proofs else []))
        return dict(zip(words, STATE_COLORS, strict=False))


def name_of(trace: Trace, weight: int) -> str:
    """Return a name of a weight from its feature and output, or its index if the problem is unknown."""
    about = trace.info.problem
    if not about:
        return f"weight {weight}"
    return trace.names.weight(weight, about["n_features"], about["n_outputs"])


def _dual_name(trace: Trace, variable: int) -> str:
    if not trace.info.problem:
        return f"dual variable {variable}"
    outputs = int(trace.probes.entry(ACTIVE.name, 0)[1]["size"]) // trace.info.problem["n_samples"]
    sample, c = divmod(variable, outputs)
    return f"sample {sample + 1}" + (f", {trace.names.output(c)}" if outputs > 1 else "")


#: Kinds of variables by the word that working sets use for them.
VARIABLE_KINDS = {
    kind.many: kind
    for kind in (
        VariableKind("weights", "weight", "zero", "not zero", name_of),
        VariableKind("dual variables", "dual variable", "at a bound", "inside its bounds", _dual_name),
    )
}


def kind_of(trace: Trace) -> VariableKind:
    """Return the words for the variables of a run's working set; the trace must contain an
    observation of it."""
    word = str(trace.probes.entry(ACTIVE.name, 0)[1]["of"])
    return VARIABLE_KINDS.get(
        word, VariableKind(word, word, "at a bound", "free", lambda trace, k: f"{word} {k}")
    )


def subset(seen: Seen, name: str) -> dict[str, np.ndarray]:
    """Return a set of weights in an observation of the ``active`` probe: ``inside``, ``support`` or
    ``remaining``.

    The remaining weights are those that are not proved to be zero.
    """
    return {key.removeprefix(name + "_"): kept for key, kept in seen.items() if key.startswith(name + "_")}


def states(trace: Trace, iteration: int, weights: np.ndarray) -> np.ndarray:
    """Return the states of these weights in the last observation up to an iteration.

    States are codes in the order of ``STATE_COLORS``.
    """
    _, seen = trace.probes.entry(ACTIVE.name, iteration)
    inside, nonzero = (contains(subset(seen, name), weights) for name in ("inside", "support"))
    found = np.where(nonzero == INSIDE, NONZERO, np.where(inside == INSIDE, ZERO, SHRUNK)).astype(np.uint8)
    found[(nonzero != INSIDE) & ((inside == UNKNOWN) | (inside == INSIDE) & (nonzero == UNKNOWN))] = UNSEEN
    if remaining := subset(seen, "remaining"):
        left = contains(remaining, weights)
        found[(found == SHRUNK) & (left == OUTSIDE)] = PROVED
        found[(found == SHRUNK) & (left == UNKNOWN)] = UNSEEN
    if (test := trace.probes.last(SHRINKING.name, iteration)) is not None:
        found[np.isin(weights, test[1]["returned"])] = RETURNED
    return found


def picked(seen: Seen) -> np.ndarray:
    """Return the working set in ascending order.

    If it contains all weights, or was too large to be recorded as a whole, return the nonzero weights.
    """
    members = known_members(subset(seen, "inside"))
    if members is None:
        members = known_members(subset(seen, "support"))
    return np.empty(0, dtype=np.int64) if members is None else members


def used(trace: Trace) -> np.ndarray:
    """Return the weights that were selected for a working set after iteration 1, in ascending order.

    Earlier selections are uninformed.
    """
    entries = trace.probes.entries(ACTIVE.name)
    last = max(k for k, _ in entries)
    sets = [picked(seen) for k, seen in entries if k > min(1, last - 1)]
    size = int(entries[0][1]["size"])
    if size <= 8 * MAX_SUBSET_BYTES:
        ever = np.zeros(size, dtype=bool)
        for members in sets:
            ever[members] = True
        return np.flatnonzero(ever)
    return np.unique(np.concatenate(sets)).astype(np.int64)


def gives_proofs(trace: Trace) -> bool:
    """Return whether the rule of a run has proved that any weight is zero."""
    entry = trace.probes.last(ACTIVE.name, sys.maxsize)
    remaining = {} if entry is None else subset(entry[1], "remaining")
    return bool(remaining) and "all" not in remaining


def returned(trace: Trace) -> np.ndarray:
    """Return the weights that ever returned after shrinking had removed them, in ascending order."""
    found = [seen["returned"] for _, seen in trace.probes.entries(SHRINKING.name)]
    return np.unique(np.concatenate(found)).astype(np.int64) if found else np.empty(0, dtype=np.int64)


def legend(colors: Mapping[str, str]) -> str:
    """Return a legend of colours as HTML."""
    chip = "display:inline-block;width:12px;height:12px;margin:0 6px -1px 0;outline:1px solid #8886"
    chips = (
        f'<span style="white-space:nowrap"><span style="{chip};background:{color}"></span>{name}</span>'
        for name, color in colors.items()
    )
    return f'<span style="display:inline-flex;flex-wrap:wrap;gap:0 16px">{"".join(chips)}</span>'
