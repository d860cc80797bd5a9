"""A file's format is what its first line looks like; what is beyond the limits is said with the line."""

from __future__ import annotations

import gzip

import pytest

from datasets import DataError
from datasets.limits import Limits
from datasets.readers.recognise import check, format_of

SMALL = Limits(size=2_000, unpacked=10_000, lines=50, index=5_000_000, labels=20)


@pytest.mark.parametrize(
    ("content", "format"),
    [
        ("1 1:0.5 3:2\n-1 2:1\n", "svmlight"),
        ("# a comment\n\n+1,3 qid:7 12:1 # x\n", "svmlight"),
        ("1\n2 3:4\n", "svmlight"),
        ("He PRP B-NP\nsaid VBD O\n\n", "columns"),
        ("2001 CD O\n", "columns"),
        ("0.5 1.5 2.5\n", None),
        ("1,2,3\n", None),
        ("@relation iris\n", None),
        ("\n\n", None),
        ("", None),
        ("%PDF\0\n", None),
    ],
)
def test_a_format_is_told_by_the_first_line_or_refused_in_a_sentence(written, content, format):
    path = written(content, "mine.txt")
    if format is None:
        with pytest.raises(DataError, match=r"^mine.txt[^\n]+\.$"):
            format_of(path)
    else:
        assert format_of(path) == format


def packed(content: str | bytes) -> bytes:
    """Compressed, without the time: processes of pytest-xdist compare the names of tests."""
    return gzip.compress(content if isinstance(content, bytes) else content.encode(), mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.svm", b"1 1:1\n" * 400, "has more than 2,000 bytes"),
        ("a.svm.gz", packed("1 1:1 2:1 3:1\n" * 900), "holds more than 10,000 bytes when decompressed"),
        ("a.svm", b"1 1:1\n" * 60, "has more than 50 lines"),
        ("a.svm", b"1 1:1\n1 2:1 5000001:1\n", "line 2: feature 5,000,001 is beyond 5,000,000"),
        ("a.svm", b"".join(b"%d 1:1\n" % k for k in range(30)), "has more than 20 different labels"),
        ("a.svm", b"1,2 1:1\n" + b",".join(map(b"%d".__mod__, range(30))) + b" 1:1\n", "20 different labels"),
        ("a.txt", b"".join(b"word tag%d\n" % k for k in range(30)), "has more than 20 different labels"),
        ("a.svm.gz", packed("1 1:1\n")[:-9], "is damaged or cut short"),
        ("a.svm.gz", packed(packed("1 1:1\n" * 40)), "there is a NUL byte; give a text file"),
    ],
)
def test_each_limit_is_said_in_a_sentence(written, name, content, sentence):
    with pytest.raises(DataError, match=sentence):
        check(written(content, name), SMALL)


def test_what_is_within_the_limits_passes_and_tells_how_far_it_is(written):
    path, shares = written("1 1:1 5000000:1\n" * 50, "a.svm"), []
    check(path, SMALL, lambda text, share: shares.append((text, share)))
    assert shares == [("reading a.svm", 1.0)]
