"""Users' own files with any options: a data set that keeps its promises, or one clear sentence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solverscope import datasets
from solverscope.datasets import DataError

VALUES = st.sampled_from(["0", "1", "-1", "2.5", "1e300", "1e-300", "7"])
FEATURES = st.dictionaries(st.integers(0, 8), VALUES, max_size=5).map(
    lambda row: " ".join(f"{j}:{value}" for j, value in sorted(row.items()))
)


def lines(labels):
    return st.lists(st.tuples(st.sampled_from(labels), FEATURES).map(" ".join), max_size=12).map("\n".join)


FORMATS = {
    "svmlight": lines(["1", "-1", "2", "1,2", "", "0", "1.5"]),
    "svmlight-binary": lines(["1", "-1"]),
    "csv": st.lists(
        st.tuples(VALUES, st.sampled_from(["a", "b", "?"]), st.sampled_from(["x", "y", "1", ""])).map(
            ",".join
        ),
        max_size=12,
    ).map("\n".join),
    "columns": st.lists(st.sampled_from(["\n", "a X O\n", "b Y B-P\n", "c X I-P\n"]), max_size=15).map(
        "".join
    ),
    "lshtc": lines(["3", "4", "6"]),
}
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "scale": st.sampled_from(["unit", "minmax", "standard", "sample-standard", "2.5"]),
        "degree": st.just(2),
        "double": st.integers(0, 3),
        "bias": st.just("1"),
        "split": st.just("random"),
        "seed": st.integers(0, 5),
    },
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "tree").write_text("1 2 3\n1 2 4\n5 6\n")
    return folder


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_file_and_options_give_a_data_set_or_a_sentence(folder, format, data):
    for name in ("train", "test"):
        (folder / name).write_text(data.draw(FORMATS[format]))
    options = data.draw(OPTIONS)
    if data.draw(st.booleans()):
        options["test"] = str(folder / "test")
    if format != "columns" and data.draw(st.booleans()):
        options["positive"] = data.draw(st.sampled_from(["1", "2", "even"]))
    scheme = format.partition("-")[0]
    id = f"{scheme}:{folder / 'train'}" + (f",{folder / 'tree'}" if scheme == "lshtc" else "")
    try:
        loaded = datasets.load(id, **options)
    except DataError as error:
        message = str(error)
    else:
        message = "."
        keeps_its_promises(loaded)
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("id", "options"), [("svmlight:a\0b", {}), ("svmlight:{}", {"test": "a\0b"}), ("lshtc:{},a\0b", {})]
)
def test_a_nul_in_a_name_gets_one_sentence(tmp_path, id, options):
    (tmp_path / "train").write_text("1 1:1\n2 2:1\n")
    with pytest.raises(DataError, match="cannot be the name of a file: leave the NUL character out"):
        datasets.load(id.format(tmp_path / "train"), **options)


def keeps_its_promises(loaded):
    assert len(loaded.feature_names) == loaded.n_features
    assert loaded.examples(3)
    for part in filter(None, (loaded.train, loaded.test)):
        assert part.y.shape[0] == part.X.shape[0]
        if loaded.kind == "binary":
            assert set(np.unique(part.y)) <= {-1, 1}
        elif loaded.kind == "multilabel":
            assert part.y.shape[1] == loaded.n_classes
        elif loaded.kind == "regression":
            assert part.y.dtype == np.float64
            assert np.isfinite(part.y).all()
        else:
            assert -1 <= part.y.min() <= part.y.max() < loaded.n_classes
    if loaded.kind in ("multiclass", "sequences", "tree"):
        assert loaded.y.min() >= 0
    if hasattr(loaded.X, "csc_rows"):
        assert len(loaded.X.csc_rows(0, loaded.X.shape[0])[1]) == loaded.X.nnz


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["1234567890123", "1234567890124", "7"], ("7", "1234567890123", "1234567890124")),
        (["9007199254740991", "9007199254740990", "-3"], ("-3", "9007199254740990", "9007199254740991")),
        (["1e3", "1000.0", "-0"], ("0", "1000")),
        (["0.12345678901234", "0.12345678901235"], ("0.12345678901234", "0.12345678901235")),
    ],
)
def test_labels_that_differ_have_names_that_differ(tmp_path, labels, names):
    path = tmp_path / "long.svm"
    path.write_text("".join(f"{label} 1:{k}\n" for k, label in enumerate(labels, 1)))
    data = datasets.load(f"svmlight:{path}", split="none")
    assert data.label_names == names
    if len(names) > 2:
        one = datasets.load(f"svmlight:{path}", split="none", positive=names[-1])
        assert one.y.tolist().count(1) == 1
