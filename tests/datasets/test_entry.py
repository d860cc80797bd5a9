"""What an entry of the list knows before anything is loaded: the λ that its set opens at."""

from __future__ import annotations

import pytest

from solverscope import datasets
from solverscope.datasets import DATASETS, DataSetInfo, Lam, Option


def lam_of(entry, **options):
    known = entry.lam_for(entry.parse(options))
    return known and known.value


def test_a_set_opens_at_the_lambda_of_its_entry():
    assert datasets.load("digits").lam == DATASETS["digits"].lams[0].value


@pytest.mark.parametrize(
    "options", [{"degree": 2}, {"bias": 1}, {"scale": "none"}, {"positive": "3"}, {"scale": 15}]
)
def test_options_that_make_another_problem_leave_the_lambda_open(options):
    assert lam_of(DATASETS["digits"], **options) is None
    assert datasets.load("digits", **options).lam is None


@pytest.mark.parametrize(
    ("id", "options"),
    [
        ("digits", {}),
        ("digits", {"split": "none"}),
        ("digits", {"scale": "16"}),
        ("letter", {"n_train": "16000"}),
        ("ocr", {"split": "fold", "fold": 3}),
    ],
)
def test_what_only_chooses_training_and_test_samples_keeps_it(id, options):
    assert lam_of(DATASETS[id], **options) == DATASETS[id].lams[0].value


def test_a_generated_set_of_another_size_has_none():
    assert lam_of(DATASETS["digit-strings"], n_samples=900) is not None
    assert lam_of(DATASETS["digit-strings"], n_samples=50) is None
    assert lam_of(DATASETS["synthetic-text"], preset="text20") is None


def test_forms_of_a_set_have_each_their_own():
    entry = DataSetInfo(
        "forms",
        "Forms",
        "",
        "binary",
        lambda request: None,
        own=(Option("form", "a", "", choices=("a", "b", "c")), Option("n", 3, "", 1, 9)),
        presets={"small": {}, "big": {"n": 9}},
        lams=(Lam(1.0, 7, 9, 0.5), Lam(2.0, 8, 9, 0.6, "form=b"), Lam(3.0, 9, 9, 0.7, "preset=big,form=b")),
    )
    assert lam_of(entry) == 1.0
    assert lam_of(entry, form="b") == 2.0
    assert lam_of(entry, form="b", preset="big") == 3.0
    assert lam_of(entry, form="c") is None
    assert lam_of(entry, form="b", n=5) is None


def test_every_lambda_is_for_options_that_the_set_has():
    for entry in DATASETS.values():
        for lam in entry.lams:
            options = dict(term.split("=") for term in lam.when.split(",") if term)
            assert lam_of(entry, **options) == lam.value, (entry.id, lam.when)
            assert min(lam.value, lam.nonzeros, lam.metric) > 0
            assert lam.metric <= 1
            assert lam.nonzeros < lam.weights


def test_own_files_have_none(tmp_path):
    file = tmp_path / "own.svm"
    file.write_text("+1 1:1\n-1 2:1\n" * 10)
    assert datasets.load(f"svmlight:{file}").lam is None
