"""Data sets by definition: an embedded one, and some that are wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solverscope import datasets, solvers
from tests.solvers.helpers import binary, chains


def test_an_embedded_set_is_what_it_claims():
    report = solvers.check_dataset(datasets.load("breast-cancer"))
    assert (report.findings, len(report.passed)) == ([], 6)
    assert report.inapplicable == {"offsets_cover_the_rows": "samples are no sequences"}


def changed(data, **parts):
    return replace(data, train=replace(data.train, **parts))


@pytest.mark.parametrize(
    ("data", "quantity", "sentence"),
    [
        (changed(binary(), y=np.zeros(60)), "y", "binary labels are -1 and"),
        (changed(binary(), y=np.ones(59)), "y", "60 rows of X and 59 labels"),
        (changed(binary(), X=np.full((60, 12), np.nan)), "X", "720 entries that are not finite"),
        (changed(chains(), offsets=np.array([0, 1])), "offsets", "0 to 1 for"),
    ],
)
def test_what_is_wrong_with_data_is_named(data, quantity, sentence):
    found = {finding.quantity: finding.sentence for finding in reversed(solvers.check_dataset(data).findings)}
    assert sentence in found[quantity]
