"""Checks of data sets: shapes, labels, and that a problem can be made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compatibility import losses_for
from ..from_data import make_problem
from .finding import Checks, Fault, Faults

data_checks = Checks()


@data_checks("X", "features are finite numbers, a row for each sample or token")
def features_are_numbers(data: Any) -> Faults:
    for name, part in _parts(data):
        X = part.X
        if hasattr(X, "csc_rows"):  # made in pieces, and checked there
            continue
        values = X.data if sp.issparse(X) else np.asarray(X)
        if values.dtype.kind not in "fiub":
            yield Fault(f"X of the {name} part holds {values.dtype}: give numbers")
        elif not np.isfinite(values).all():
            yield Fault(
                f"X of the {name} part has {int((~np.isfinite(values)).sum())} entries that are not finite"
            )


@data_checks("y", "there is one label for each row of X")
def labels_match_rows(data: Any) -> Faults:
    if data.kind == "function":
        return "its labels are pieces of a function"
    for name, part in _parts(data):
        if part.X.shape[0] != part.y.shape[0]:
            yield Fault(f"the {name} part has {part.X.shape[0]} rows of X and {part.y.shape[0]} labels")
    return None


@data_checks("X", "training and test part have the same features")
def parts_have_the_same_features(data: Any) -> Faults:
    if data.test is not None and data.test.X.shape[1] != data.train.X.shape[1]:
        yield Fault(
            f"the training part has {data.train.X.shape[1]} features, the test part {data.test.X.shape[1]}"
        )
    return "there is no test part" if data.test is None else None


@data_checks("y", "labels are coded as their kind says")
def labels_are_coded(data: Any) -> Faults:
    for name, part in _parts(data):
        y = part.y.data if sp.issparse(part.y) else np.asarray(part.y)
        if data.kind == "binary" and not np.isin(y, (-1, 1)).all():
            yield Fault(
                f"the {name} part has the label {y[~np.isin(y, (-1, 1))][0]}: binary labels are -1 and +1"
            )
        elif data.kind in ("multiclass", "sequences", "tree"):
            least = 0 if name == "training" else -1  # -1: not seen in training
            wrong = (y < least) | (y >= data.n_classes)
            if wrong.any():
                yield Fault(
                    f"the {name} part has the label {y[wrong][0]}: classes are 0 to {data.n_classes - 1}"
                )
        elif data.kind == "multilabel" and not np.isin(y, (0, 1)).all():
            yield Fault(
                f"the {name} part has the entry {y[~np.isin(y, (0, 1))][0]}: sets of labels are 0 and 1"
            )
        elif data.kind in ("regression", "multitask") and not np.isfinite(y).all():
            yield Fault(f"the {name} part has {int((~np.isfinite(y)).sum())} targets that are not finite")


@data_checks("y", "training data have two labels or more")
def labels_differ(data: Any) -> Faults:
    if data.kind not in ("binary", "multiclass"):
        return f"labels are those of {data.kind}"
    if np.unique(data.train.y).size < 2:
        yield Fault(
            f"all {data.train.y.shape[0]} training samples have the label {np.unique(data.train.y)[0]}"
        )
    return None


@data_checks("offsets", "sequence i has the rows offsets[i] to offsets[i + 1], ascending from 0 to the last")
def offsets_cover_the_rows(data: Any) -> Faults:
    if data.kind != "sequences" and getattr(data.train, "offsets", None) is None:
        return "samples are no sequences"
    for name, part in _parts(data):
        offsets = getattr(part, "offsets", None)
        if offsets is None:
            yield Fault(f"the {name} part has sequences and no offsets")
            continue
        if offsets[0] != 0 or offsets[-1] != part.X.shape[0] or np.any(np.diff(offsets) < 1):
            ends = f"{offsets[0]} to {offsets[-1]} for {part.X.shape[0]} rows"
            yield Fault(f"the offsets of the {name} part go from {ends}, or are not ascending")
    return None


@data_checks("problem", "each loss for the kind of labels makes a problem with a finite f at w = 0")
def problems_can_be_made(data: Any) -> Faults:
    for loss in losses_for(data.kind):
        if loss == "poisson" and np.min(np.asarray(data.train.y)) < 0.0:
            continue  # of counts alone
        try:
            f = make_problem(data, loss=loss, penalty="l2", lam=0.1).at().objective
        except ValueError as error:
            yield Fault(f"no problem with the loss {loss}: {error}")
            continue
        if not np.isfinite(f):
            yield Fault(f"f at w = 0 is {f} with the loss {loss}")


def _parts(data: Any) -> list[tuple[str, Any]]:
    parts = [("training", data.train)]
    return parts if data.test is None else [*parts, ("test", data.test)]
