"""Tagged sentences with binary features of tokens: CoNLL's shared tasks and users' own columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse

from ..dataset import Content, Part
from ..entry import Request
from ..errors import DataError
from ..names import LazyNames
from ..readers.columns import Sentences, read
from ..store import sha256
from .labels import encode


@dataclass(frozen=True)
class Template:
    """A feature of a token: `of` applied to a field of the token at distance `offset`.

    If `of` returns None, the token does not have the feature.
    """

    name: str
    column: int
    offset: int = 0
    of: Callable[[str], str | None] = str


def affix(word: str, k: int) -> str | None:
    """Return the first k letters of a word in lower case, or the last -k if k < 0; None for shorter words."""
    return (word[:k] if k > 0 else word[k:]).lower() if len(word) > abs(k) else None


def shape(word: str) -> str:
    """Return the shape of a word: X for capitals, x for other letters, 0 for digits.

    Repetitions are cut to two: the shape of Mary-2001 is "Xxx-00".
    """
    marks = []
    for letter in word:
        mark = "0" if letter.isdigit() else ("X" if letter.isupper() else "x") if letter.isalpha() else letter
        if marks[-2:] != [mark, mark]:
            marks.append(mark)
    return "".join(marks)


def templates(features: str, extra: int) -> list[Template]:
    """Return the templates of "mathur" features (word, previous word, other fields) or "rich" features.

    ``extra`` is the number of fields between the word and the tag.
    """
    columns = range(1, 1 + extra)
    if features == "mathur":
        return [
            Template("word", 0),
            Template("word", 0, -1),
            *(Template(f"field {c + 1}", c) for c in columns),
        ]
    own = [Template("word", 0), Template("lower", 0, of=str.lower), Template("shape", 0, of=shape)]
    for kind, sign in (("prefix", 1), ("suffix", -1)):
        own += [Template(f"{kind} {k}", 0, of=partial(affix, k=sign * k)) for k in range(1, 5)]
    own += [Template(f"field {c + 1}", c) for c in columns]
    for offset in (-1, 1):
        own += [Template("lower", 0, offset, str.lower), Template("shape", 0, offset, shape)]
        own += [Template(f"field {c + 1}", c, offset) for c in columns]
    return own


def conll2002(request: Request) -> Content:
    """Load named entities in Spanish (esp) or Dutch (ned), with testa or testb as the test part."""
    language, test = request.options["language"], request.options["test"]
    members = [f"conll2002/{language}.train", f"conll2002/{language}.{test}"]
    # the set has its lines between documents inside sentences, and results are known with them
    return _content(request, [(request.paths[0], member) for member in members], documents=True)


def conll2000(request: Request) -> Content:
    """Load text chunks of the Wall Street Journal."""
    return _content(request, [(request.paths[0], f"conll2000/{part}.txt") for part in ("train", "test")])


def own(request: Request) -> Content:
    """Load a user's own file, columns:PATH, and a test part from a second file if there is one."""
    return _content(request, [(path, None) for path in request.paths])


def _content(request: Request, files: list[tuple[Path, str | None]], *, documents: bool = False) -> Content:
    progress = request.progress
    parts = [read(path, member=member, documents=documents, progress=progress) for path, member in files]
    if len({len(part.columns) for part in parts}) != 1:
        raise DataError(f"{files[1][0].name} has another number of fields than {files[0][0].name}.")
    kinds = templates(request.options["features"], len(parts[0].columns) - 2)
    request.progress("making features", None)
    matrices, names = _features(kinds, parts, request.options["min_count"])
    tags = [np.array(part.columns[-1].values)[part.columns[-1].codes] for part in parts]
    labels, label_names = encode("sequences", *tags)
    offsets = [part.offsets for part in parts]
    train, test = [*map(Part, matrices, labels, offsets), None][:2]
    digest = sha256(*dict.fromkeys(request.paths))
    return Content(train, label_names, names, digest, test=test, texts=lambda i: _words(parts, i))


def _words(parts: list[Sentences], i: int) -> str:
    """Return the words of sentence i, where sentences are numbered through all parts."""
    for part in parts:
        if i < len(part.offsets) - 1:
            words = part.columns[0]
            return " ".join(words.values[code] for code in words.codes[part.offsets[i] : part.offsets[i + 1]])
        i -= len(part.offsets) - 1
    raise IndexError("no such sentence")


def _features(
    kinds: list[Template], parts: list[Sentences], min_count: int
) -> tuple[list[scipy.sparse.csr_matrix], LazyNames]:
    """Return a 0/1 matrix for each part, and the names of the features.

    Features are those that occur at least min_count times in the first part, which is for training.
    """
    columns: list[list[np.ndarray]] = [[] for _ in parts]
    names: list[tuple[Template, str]] = []
    for kind in kinds:
        numbers: dict[str, int] = {}
        codes = [_codes(kind, part, numbers) for part in parts]
        counts = np.bincount(codes[0][codes[0] >= 0], minlength=len(numbers))
        kept = counts >= min_count
        place = np.where(kept, np.cumsum(kept) - 1 + len(names), -1)
        place = np.append(place, -1).astype(np.int32)
        for part, code in zip(columns, codes, strict=True):
            part.append(place[code])
        values = list(numbers)
        names += [(kind, values[i]) for i in np.flatnonzero(kept)]
    matrices = []
    for part in columns:
        stacked = np.stack(part, axis=1)
        there = stacked >= 0
        indptr = np.concatenate([[0], np.cumsum(there.sum(1))])
        # columns grow with the template, so rows are sorted
        matrices.append(
            scipy.sparse.csr_matrix(
                (np.ones(int(indptr[-1])), stacked[there], indptr), (len(stacked), len(names))
            )
        )

    def name(i: int) -> str:
        kind, value = names[i]
        return f"{kind.name}{f'[{kind.offset:+d}]' if kind.offset else ''}={value}"

    return matrices, LazyNames(len(names), name)


def _codes(kind: Template, part: Sentences, numbers: dict[str, int]) -> np.ndarray:
    """Return the code of the feature's value at each token, or -1; new values are added to `numbers`."""
    column = part.columns[kind.column]
    values = [kind.of(value) for value in column.values]
    known = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    codes = np.array(known, np.int32)[column.codes]
    if kind.offset:
        shifted = np.roll(codes, -kind.offset)
        edge = part.offsets[:-1] if kind.offset < 0 else part.offsets[1:] - 1
        shifted[edge] = numbers.setdefault("(edge)", len(numbers))
        return shifted
    return codes
