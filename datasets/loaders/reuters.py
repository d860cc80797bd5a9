"""Reuters news: the ModApte split of Reuters-21578 and the eight classes of R8."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..readers.files import read_lines
from .labels import encode, indicator
from .text import SHOWN, classified, mutual_information, word_counts

FREQUENT_TOPICS = 9


def reuters(request: Request) -> Content:
    """Load the ModApte documents that have a topic: words of title and body, and topics that occur in
    training.

    With `top_words`, only the words with the largest mutual information with the nine most frequent topics
    are used (Mathur and Chakrabarti 2006, II-A-5).
    """
    (path,) = request.paths
    rows = _documents(path, read_lines(path, progress=request.progress))
    train = [row for row in rows if row[0] == "train"]
    test = [row for row in rows if row[0] == "test"]
    X, X_test, vocabulary = word_counts((row[2] for row in train), (row[2] for row in test))
    flat = [np.array([topic for row in part for topic in row[1]]) for part in (train, test)]
    offsets = [np.cumsum([0] + [len(row[1]) for row in part]) for part in (train, test)]
    (codes, test_codes), names = encode("multilabel", *flat)
    Y, Y_test = indicator(codes, offsets[0], len(names)), indicator(test_codes, offsets[1], len(names))
    kept = request.options["top_words"]
    if 0 < kept < len(vocabulary):
        frequent = np.argsort(-np.asarray(Y.sum(0)).ravel(), kind="stable")[:FREQUENT_TOPICS]
        information = mutual_information(X, Y[:, frequent].toarray())
        columns = np.sort(np.argsort(-information, kind="stable")[:kept])
        X, X_test, vocabulary = X[:, columns], X_test[:, columns], tuple(vocabulary[j] for j in columns)
    shown = [row[2][:SHOWN] for row in train + test]
    return Content(Part(X, Y), names, vocabulary, test=Part(X_test, Y_test), texts=lambda i: shown[i])


def _documents(path: Path, lines: list[str]) -> list[tuple[str, list[str], str]]:
    """Return (split, topics, text) of each document that has a topic."""
    if not lines or lines[0].split("\t") != ["newid", "split", "topics", "title", "body"]:
        raise DataError(f"{path.name}, line 1: the header newid, split, topics, title, body is missing.")
    rows = []
    for number, line in enumerate(lines[1:], 2):
        fields = line.split("\t")
        if len(fields) != 5 or fields[1] not in ("train", "test"):
            raise DataError(
                f"{path.name}, line {number}: a document is newid, train or test, topics, title and body."
            )
        if fields[2]:
            rows.append((fields[1], fields[2].split(" "), f"{fields[3]} {fields[4]}"))
    if not any(row[0] == "train" for row in rows):
        raise DataError(f"{path.name} has no training document with a topic: get the file again.")
    return rows


def reuters_r8(request: Request) -> Content:
    """Load documents of eight classes; a line is a class, a tab, and words separated by blanks."""
    parts = []
    for path in request.paths:
        lines = [line.split("\t") for line in read_lines(path, progress=request.progress)]
        wrong = next((i for i, fields in enumerate(lines, 1) if len(fields) != 2), None)
        if wrong or not lines:
            raise DataError(f"{path.name}, line {wrong or 1}: a document is a class, a tab and its words.")
        parts.append(lines)
    return classified(*parts, split=str.split)
