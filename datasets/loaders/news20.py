"""20 Newsgroups in three forms: many words and a tree, the 1,000 best word groups, or the raw messages."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError, short
from ..limits import MAX_SMALL_BYTES
from ..readers import npz
from ..readers.files import DAMAGE_ERRORS, read_lines
from ..store import Progress, open_regular
from ..trees import Tree
from .text import classified


def news20(request: Request) -> Content:
    """Load word counts of messages; labels are the groups, or, with labels=tree, leaves of a tree
    of groups."""
    form, labels = request.options["form"], request.options["labels"]
    content, tree = {"tree": _large, "w1000": _small, "sklearn": _raw}[form](request)
    if labels == "flat" or (labels == "auto" and form != "tree"):
        return content
    ids = tree.ids()
    missing = [name for name in content.label_names if name not in ids]
    if missing:
        raise DataError(
            f"The tree of {request.paths[1].name} has no group {missing[0]!r}: get the file again."
        )
    nodes = np.array([ids[name] for name in content.label_names], np.int32)
    parts = [part and Part(part.X, nodes[part.y]) for part in (content.train, content.test)]
    return replace(content, train=parts[0], test=parts[1], label_names=tree.names, parents=tree.parents)


def _large(request: Request) -> tuple[Content, Tree]:
    """Load form=tree: 18,221 x 36,568, with groups below 18 and 6 classes, not split."""
    counts, tree_file, terms = request.paths
    X = npz.read_csr(counts)
    rows = [line.split("\t") for line in read_lines(tree_file)[1:]]
    vocabulary = tuple(read_lines(terms))
    if any(len(row) != 4 for row in rows) or [row[0] for row in rows] != [str(k) for k in range(len(rows))]:
        raise DataError(
            f"{tree_file.name}: a line is level3, level2, level1 and the group's name, in order of level3."
        )
    y = npz.read_labels(counts, "level3", len(rows))
    _check_lengths(counts, X, y, vocabulary)
    names = tuple(row[3] for row in rows)
    middle = {row[1]: f"level 2: {_common([r[3] for r in rows if r[1] == row[1]])}" for row in rows}
    top = {row[2]: f"level 1: {_common([r[3] for r in rows if r[2] == row[2]])}" for row in rows}
    parent = {row[3]: middle[row[1]] for row in rows} | {middle[row[1]]: top[row[2]] for row in rows}
    tree = Tree.of(parent, dict.fromkeys(top.values()), tree_file.name)
    return Content(Part(X, y), names, vocabulary), tree


def _common(names: list[str]) -> str:
    """Return the common prefix of dotted names, or all names joined by commas if they have none."""
    common = []
    for parts in zip(*(name.split(".") for name in names), strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return ".".join(common) or ", ".join(names)


def _small(request: Request) -> tuple[Content, Tree]:
    """Load form=w1000: 11,256 + 7,489 messages split by date, with 1,000 word groups, best first."""
    counts, tree_file = request.paths
    X, X_test = npz.read_csr(counts, "train_"), npz.read_csr(counts, "test_")
    names, vocabulary = npz.read_names(counts, "class_names"), npz.read_names(counts, "vocab")
    y, y_test = (npz.read_labels(counts, f"{part}_y", len(names)) for part in ("train", "test"))
    _check_lengths(counts, X, y, vocabulary)
    _check_lengths(counts, X_test, y_test, vocabulary)
    rows = [line.split("\t") for line in read_lines(tree_file)[1:]]
    if any(len(row) != 3 for row in rows):
        raise DataError(f"{tree_file.name}: a line is class, name and parent.")
    parent = {name: above for _, name, above in rows if above != "root"}
    groups = tuple(" ".join(words.split()[:3]) for words in vocabulary)
    content = Content(Part(X, y), names, groups, test=Part(X_test, y_test))
    return content, Tree.of(parent, [name for _, name, above in rows if above == "root"], tree_file.name)


def _check_lengths(
    path: Path, X: scipy.sparse.csr_matrix, y: np.ndarray, vocabulary: tuple[str, ...]
) -> None:
    if (len(y), len(vocabulary)) != X.shape:
        raise DataError(f"{path.name}: rows, labels and words do not fit each other: get the file again.")


def _raw(request: Request) -> tuple[Content, Tree]:
    """Load form=sklearn: all words of the 18,846 raw messages, split by date as in scikit-learn's fetcher."""
    (path,) = request.paths
    messages = _messages(path, request.progress)
    train, test = ([m[1:] for m in messages if m[0].endswith(f"-{part}")] for part in ("train", "test"))
    if not (train and test):
        raise DataError(
            f"{path.name} has no folders that end in -train and -test: it should be 20news-bydate.tar.gz."
        )
    content = classified(train, test)
    tree = Tree.of_paths(name.replace(".", "/") for name in content.label_names)
    return content, Tree(tree.parents, tuple(name.replace("/", ".") for name in tree.names))


def _messages(path: Path, progress: Progress) -> list[tuple[str, str, str]]:
    """Return (folder, group, text) of each message in a tar file, sorted by the names of its members."""
    found, total = [], 0
    try:
        with open_regular(path) as file, tarfile.open(fileobj=file) as archive:
            for member in archive:
                parts = member.name.split("/")
                total += member.size
                if total > MAX_SMALL_BYTES:
                    raise DataError(
                        f"{path.name} holds more than {MAX_SMALL_BYTES:,} bytes: get the original file."
                    )
                if not member.isfile() or len(parts) < 3:
                    continue
                extracted = archive.extractfile(member)
                assert extracted is not None  # a regular file
                text = extracted.read().decode("latin-1")
                found.append((member.name, parts[-3], parts[-2], text))
                if len(found) % 1000 == 0:
                    progress(f"reading {path.name}", None)
    except DataError:
        raise
    except (*DAMAGE_ERRORS, tarfile.TarError, OSError) as error:
        raise DataError(f"{path.name} is damaged or no tar file ({short(error)}): get it again.") from None
    return [(folder, group, text) for _, folder, group, text in sorted(found)]
