import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from solverscope import datasets
from solverscope.datasets import DataError

ROOT = Path(__file__).parents[3]


def letter_data(words, pixels=None):
    """Text like letter.data: words of letters, folds 0, 1, ..."""
    lines, number = [], 0
    for w, word in enumerate(words):
        for position, letter in enumerate(word):
            number += 1
            following = -1 if position == len(word) - 1 else number + 1
            bits = np.zeros(128, int)
            bits[ord(letter) - 97 :: 26] = 1
            head = [number, letter, following, w + 1, position + 1, w % 10]
            lines.append("\t".join(map(str, [*head, *bits])) + "\t\n")
    return "".join(lines)


@pytest.fixture
def at_hand(tmp_path, monkeypatch):
    """Puts a small letter.data in a data folder."""
    monkeypatch.setenv("SOLVERSCOPE_DATA", str(tmp_path))
    (tmp_path / "ocr_letters").mkdir()

    def write(text):
        (tmp_path / "ocr_letters" / "letter.data").write_text(text)

    return write


def test_a_word_is_a_sequence_of_pictures(at_hand):
    at_hand(letter_data(["abc", "de", "zz", "hello", "q", "rs", "tu", "vwx", "yy", "aab"]))
    data = datasets.load("ocr")
    assert (data.n_samples, data.test.n_samples) == (9, 1)
    order = np.random.default_rng(0).permutation(10)
    words = ["abc", "de", "zz", "hello", "q", "rs", "tu", "vwx", "yy", "aab"]
    spelled = ["".join(data.label_names[c] for c in data.y[a:b]) for a, b in pairwise(data.offsets)]
    assert spelled == [words[i] for i in order[:9]]
    pixels = data.X.base().toarray()
    assert all(set(np.flatnonzero(row) % 26) == {code} for row, code in zip(pixels, data.y, strict=True))


def test_a_fold_is_the_test_part(at_hand):
    words = ["abc", "de", "zz", "hello", "q", "rs", "tu", "vwx", "yy", "aab", "bc", "cd"]
    at_hand(letter_data(words))
    data = datasets.load("ocr", split="fold", fold=1)
    assert (data.n_samples, data.test.n_samples) == (10, 2)
    assert len(data.test.y) == len("de" + "cd")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: "", "is empty"),
        (lambda text: text[:-100], "line 5: the file ends inside a line"),
        (lambda text: text.replace("\t1\t", "\t2\t", 40), "not 0 or 1"),
        (lambda text: text.replace("\ta\t", "\tA\t"), "line 1: a letter not in a-z"),
        (lambda text: text.replace("4\tb\t5\t2", "4\tb\t5\t3"), "line 4: the end of a word"),
        (lambda text: text.replace("1\ta\t2", "1\ta\tx"), "line 1: next id, word and fold"),
        (lambda text: "short\n" + text, "line 1: fewer than 128 pixels"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(at_hand, change, words):
    at_hand(change(letter_data(["abc", "ba"])))
    with pytest.raises(DataError, match=words):
        datasets.load("ocr")


def test_the_real_set_has_the_counts_of_the_contract(load_real):
    data = load_real("ocr")
    assert (data.n_samples, data.test.n_samples) == (6216, 661)
    assert data.X.shape == (47107, 8257)
    assert data.X.nnz == 21_076_258
    assert data.n_features * data.n_classes + data.n_classes**2 == 215_358
    assert len(data.y) + len(data.test.y) == 52_152
    lengths = np.concatenate([np.diff(data.offsets), np.diff(data.test.offsets)])
    assert (lengths.min(), lengths.max()) == (3, 14)
    assert data.digest == "4ef9522ffeaa68cad889ad8d02ad3fca411fe6a656546c236a183866157b3b34"
    assert (data.lam, data.picture_shape) == (100.0, (16, 8))


def test_the_real_folds_have_their_sizes(load_real):
    letters = (4617, 5375, 5110, 5353, 5270, 5001, 5583, 5370, 5331, 5142)
    words = (626, 704, 684, 698, 693, 651, 739, 717, 690, 675)
    for fold in (0, 6):
        data = load_real("ocr", split="fold", fold=fold, degree=1, bias=0)
        assert (len(data.test.y), data.test.n_samples) == (letters[fold], words[fold])


@pytest.mark.bench
def test_21_million_non_zeros_are_ready_in_3_seconds_and_150_mb(load_real):
    load_real("ocr", degree=1, bias=0)
    code = """
import resource, time
import numpy as np, datasets
datasets.load("digit-strings", n_samples=2).X.csc_rows(0, 2)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before, began = peak(), time.process_time()
X = datasets.load("ocr").X
kept = [X.csc_rows(lo, min(lo + 2048, X.shape[0]))[1].astype(np.uint16) for lo in range(0, X.shape[0], 2048)]
print(sum(map(len, kept)), time.process_time() - began, (peak() - before) / 1024)
"""
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    count, seconds, megabytes = map(float, out.split())
    assert count == 21_076_258
    assert seconds < 3
    assert megabytes < 150
