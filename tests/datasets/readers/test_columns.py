import zipfile

import numpy as np
import pytest

import datasets
from datasets import DataError
from datasets.readers import columns, files

TEXT = "-DOCSTART- X O\r\n\r\nJohn NNP B-PER\r\nlives\tVBZ  O\r\n\r\n\r\nÉire NN more B-LOC\r\n"


def fields(found):
    return [[column.values[code] for code in column.codes] for column in found.columns]


def test_first_fields_and_the_last_are_kept(written):
    found = columns.read(written(TEXT))
    assert fields(found) == [
        ["-DOCSTART-", "John", "lives", "Éire"],
        ["X", "NNP", "VBZ", "NN"],
        ["O", "B-PER", "O", "B-LOC"],
    ]
    assert found.offsets.tolist() == [0, 1, 3, 4]


def test_blocks_are_put_together(written, monkeypatch):
    text = "".join(f"w{i} t{i % 3}\n" + "\n" * (i % 4 == 0) for i in range(200))
    whole = columns.read(written(text))
    monkeypatch.setattr(files, "CHUNK", 32)
    parts = columns.read(written(text))
    assert fields(whole) == fields(parts)
    np.testing.assert_array_equal(whole.offsets, parts.offsets)
    assert len(whole.offsets) - 1 == 51


def test_a_member_of_a_zip_file(tmp_path):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", TEXT)
        archive.writestr("b", "x y")
    assert fields(columns.read(path, member="b")) == [["x"], ["y"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("word\n", "line 1: a token needs a word and a tag"),
        ("\nw t\nw\n", "line 3: a token needs a word and a tag"),
        ("w p t\nw t\n", "line 2 has 2 fields but the first token has 3"),
        ("w t\n" + "w " * 5000, "line 2 has 5,000 fields; a token has at most 1,000"),
        (b"w t\n\xff t\n", "line 2: this is not UTF-8"),
        (b"w t\n\0 t\n", "line 2: there is a NUL byte"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(written, text, words):
    with pytest.raises(DataError, match=words):
        columns.read(written(text))


def own_id(path):
    return f"columns:{path}"


class TestOwnFiles:
    def test_sentences_become_sequences_with_binary_features(self, written):
        train = written("the DT O\ndog NN B-X\n\na DT O\ncat NN B-Y\n")
        test = written("the DT O\nbird NN B-Z\n", "test.conll")
        data = datasets.load(f"columns:{train}", test=str(test), features="mathur")
        assert (data.kind, data.loss, data.n_samples) == ("sequences", "chain-crf", 2)
        assert data.label_names == ("B-X", "B-Y", "O")
        assert data.test.y.tolist() == [2, -1]
        names = list(data.feature_names)
        on = [{names[j] for j in data.X[i].indices} for i in range(4)]
        assert on[0] == {"word=the", "word[-1]=(edge)", "field 2=DT"}
        assert on[3] == {"word=cat", "word[-1]=a", "field 2=NN"}
        assert {names[j] for j in data.test.X[1].indices} == {"word[-1]=the", "field 2=NN"}
        assert data.examples(1)[0].text == "the dog"

    def test_rich_features_know_affixes_shape_and_neighbours(self, written):
        data = datasets.load(own_id(written("Mary-9 NN B-X\n. , O\n")))
        names = list(data.feature_names)
        on = {names[j] for j in data.X[0].indices}
        assert on >= {
            "word=Mary-9",
            "lower=mary-9",
            "shape=Xxx-0",
            "prefix 3=mar",
            "suffix 2=-9",
            "field 2=NN",
        }
        assert on >= {"lower[+1]=.", "field 2[+1]=,", "lower[-1]=(edge)"}
        assert data.X.has_sorted_indices
        assert set(data.X.data) == {1.0}

    def test_texts_stay_with_their_sentences_when_both_parts_are_pooled(self, written):
        train, test = (
            written("".join(f"{part}{i} T{i % 2}\n\n" for i in range(6)), f"{part}.conll") for part in "ab"
        )
        data = datasets.load(f"columns:{train}", test=str(test), split="random", features="mathur", seed=2)
        assert (data.n_samples, data.test.n_samples) == (10, 2)
        texts = [example.text for example in data.examples(10)]
        assert len({*texts}) == 10
        for text, example in zip(texts, data.examples(10), strict=True):
            assert example.label == f"T{int(text[1]) % 2}"

    def test_rare_features_can_be_left_out(self, written):
        path = written("a O\na O\nb B-X\n")
        data = datasets.load(f"columns:{path}", features="mathur", min_count=2)
        assert list(data.feature_names) == ["word=a", "word[-1]=a"]

    def test_files_with_other_numbers_of_fields_are_refused(self, written):
        test = written("a O\n", "test.conll")
        with pytest.raises(DataError, match="another number of fields"):
            datasets.load(own_id(written("a DT O\nb NN P\n")), test=str(test))
