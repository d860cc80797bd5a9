"""Data sets whose classes are leaves, or other nodes, of a tree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..names import LazyNames
from ..readers import arff, hierarchy, svmlight
from ..trees import Tree, leaves
from .embedded import digits
from .labels import indicator, name_of

DIGIT_SHAPES = {"round": "0689", "straight": "147", "open": "235"}


def digits_tree(request: Request) -> Content:
    """Load the digits as leaves of a tree with three groups: closed loops, straight strokes and
    open curves."""
    flat = digits(request)
    tree = Tree.of(
        {digit: shape for shape, members in DIGIT_SHAPES.items() for digit in members}, DIGIT_SHAPES
    )
    ids = tree.ids()
    nodes = np.array([ids[name] for name in flat.label_names], np.int32)
    train = Part(flat.train.X, nodes[flat.train.y])
    return replace(flat, train=train, label_names=tree.names, parents=tree.parents)


def imclef07(request: Request) -> Content:
    """Load X-ray images with 80 features and IRMA codes, which are paths in a tree of the codes
    that occur."""
    tables = [arff.read(path, progress=request.progress) for path in request.paths]
    paths = [[label.split("@")[-1] for label in part.labels] for part in tables]
    tree = Tree.of_paths(sorted(set().union(*paths)))
    ids, is_leaf = tree.ids(), np.isin(np.arange(len(tree.names)), leaves(tree.parents))
    parts = []
    for path, part, ends in zip(request.paths, tables, paths, strict=True):
        y = np.array([ids[end] for end in ends], np.int32)
        wrong = np.flatnonzero(~is_leaf[y])
        if len(wrong):
            raise DataError(
                f"{path.name}: row {wrong[0] + 1} has an inner node as its class; it should be a leaf."
            )
        parts.append(Part(part.values, y))
    _check_columns(request, tables)
    return Content(parts[0], tree.names, tables[0].names, test=parts[1], parents=tree.parents)


def enron(request: Request) -> Content:
    """Load e-mails with any number of labels in a tree; with ancestors=1, ancestors of labels are labels,
    too."""
    tables = [arff.read(path, progress=request.progress) for path in request.paths]
    _check_columns(request, tables)
    tree = Tree.of_paths(tables[0].nodes)
    ids = tree.ids()
    parts = []
    for path, part in zip(request.paths, tables, strict=True):
        codes, offsets = [], [0]
        for row, label in enumerate(part.labels, 1):
            for name in label.split("@"):
                if name not in ids:
                    raise DataError(
                        f"{path.name}: row {row} has the label {name[:40]!r}, which the header lacks."
                    )
                above = _ancestors(tree, ids[name]) if request.options["ancestors"] else [ids[name]]
                codes += above
            offsets.append(len(codes))
        # the common root is no label
        Y = indicator(np.array(codes) - 1, np.array(offsets), len(tree.names) - 1)
        parts.append(Part(scipy.sparse.csr_matrix(part.values), Y))
    return Content(parts[0], tree.names[1:], tables[0].names, test=parts[1])


def _ancestors(tree: Tree, node: int) -> list[int]:
    """Return a node and its ancestors, without the root."""
    found = []
    while node > 0:
        found.append(node)
        node = int(tree.parents[node])
    return found


def _check_columns(request: Request, tables: list[arff.ArffTable]) -> None:
    if any(part.names != tables[0].names for part in tables):
        raise DataError(f"{request.paths[1].name} has other attributes than {request.paths[0].name}.")


def lshtc(request: Request) -> Content:
    """Load documents for training and, if there is a file of them, for testing, with a class hierarchy.

    The hierarchy is the last file. Feature 0, a document number, is omitted. The columns are the words that
    occur in training.
    """
    *documents, above = request.paths
    tree = hierarchy.read(above, progress=request.progress)
    parts = [_documents(path, above, tree, request) for path in documents]
    matrices = [cast(scipy.sparse.csr_matrix, part.X) for part in parts]
    seen = np.unique(matrices[0].indices)
    words = seen[seen > 0]
    if not len(words):
        raise DataError(
            f"{documents[0].name} has no word: a line is leaf word:count ..., words counted from 1."
        )
    for X in matrices:
        X.resize(X.shape[0], int(words[-1]) + 1)
    train, test = [*(Part(X[:, words], part.y) for X, part in zip(matrices, parts, strict=True)), None][:2]
    names = LazyNames(len(words), lambda j: f"word {words[j]}")
    return Content(train, tree.names, names, test=test, parents=tree.parents)


def _documents(path: Path, above: Path, tree: Tree, request: Request) -> Part:
    rows = svmlight.read(path, progress=request.progress)
    rows.check_single(path, "a document of a tree has one leaf, then word:count")
    is_leaf = leaves(tree.parents)
    ids = {tree.names[node]: node for node in is_leaf.tolist()}
    nodes = np.array([ids.get(f"{label:.0f}", -1) for label in rows.labels.tolist()], np.int32)
    missing = np.flatnonzero((nodes < 0) | (rows.labels != np.round(rows.labels)))
    if len(missing):
        line, label = rows.lines[missing[0]], float(rows.labels[missing[0]])
        raise DataError(
            f"{path.name}, line {line}: {name_of(label)} is no leaf of {above.name}; a document's class is "
            "one."
        )
    return Part(rows.X, nodes)
