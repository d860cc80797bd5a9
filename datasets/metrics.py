"""Metrics for tagged sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Prefixes of the tags of a token in an entity, of its first one, and of its last one.
FIRST_PREFIXES, LAST_PREFIXES = ("B-", "S-", "U-"), ("E-", "L-", "S-", "U-")
ENTITY_PREFIXES = ("I-", *FIRST_PREFIXES, *LAST_PREFIXES)


@dataclass(frozen=True)
class EntityScores:
    """Precision, recall and F1 of one type of entities.

    Attributes
    ----------
    true, found, correct : int
        Numbers of entities in the truth, in the prediction, and in both.
    """

    true: int
    found: int
    correct: int

    @property
    def precision(self) -> float:
        return self.correct / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.correct / (self.true + self.found) if self.true + self.found else 0.0


def entity_scores(
    label_names: tuple[str, ...], y_true: np.ndarray, y_pred: np.ndarray, offsets: np.ndarray
) -> dict[str, EntityScores]:
    """Score predicted tags by entities, as CoNLL's conlleval does.

    An entity is correct if both of its ends and its type are. A tag that does not continue an entity of its
    type starts a new one, whatever its prefix. Negative codes, which stand for tags unseen in training, are
    outside of entities.

    Parameters
    ----------
    label_names : tuple of str
        Names of the tags by code: O, B-type and I-type, or those of IOBES (S- for a single token, E- for the
        last) or BILOU (U- and L- for the same).
    y_true, y_pred : array, shape (n_tokens,)
        Codes of tags.
    offsets : array, shape (n_sequences + 1,)
        Sequence i consists of the tokens ``offsets[i]`` to ``offsets[i + 1]``, the last excluded.

    Returns
    -------
    dict of str to EntityScores
        The scores of each type, and of "all".

    Examples
    --------
    >>> import numpy as np
    >>> from solverscope import datasets
    >>> names, offsets = ("O", "B-PER", "I-PER"), np.array([0, 3])
    >>> scores = datasets.entity_scores(names, np.array([1, 2, 0]), np.array([1, 0, 0]), offsets)
    >>> scores["PER"].found, scores["PER"].correct
    (1, 0)
    """
    types = sorted({name[2:] for name in label_names if name.startswith(ENTITY_PREFIXES)})
    number = {name: k for k, name in enumerate(types)}
    # codes of -1 read the last entry
    of = np.array(
        [number[name[2:]] if name.startswith(ENTITY_PREFIXES) else -1 for name in label_names] + [-1]
    )
    begins, closes = (
        np.array([name.startswith(prefixes) for name in label_names] + [False])
        for prefixes in (FIRST_PREFIXES, LAST_PREFIXES)
    )
    first = np.zeros(len(y_true), bool)
    first[offsets[:-1]] = True
    true, found = (
        _entities(of[y], begins[y], closes[y], first) for y in (np.asarray(y_true), np.asarray(y_pred))
    )
    correct = true[np.isin(true[:, 0], found[:, 0])]
    twin = found[np.searchsorted(found[:, 0], correct[:, 0])] if len(correct) else correct
    correct = correct[(correct == twin).all(axis=1)]
    counts = [np.bincount(part[:, 2], minlength=len(types)) for part in (true, found, correct)]
    scores = {name: EntityScores(*(int(count[k]) for count in counts)) for k, name in enumerate(types)}
    return {"all": EntityScores(*(int(count.sum()) for count in counts)), **scores}


def entity_f1(
    label_names: tuple[str, ...], y_true: np.ndarray, y_pred: np.ndarray, offsets: np.ndarray
) -> float:
    """Return the F1 of all entities, see :func:`entity_scores`."""
    return entity_scores(label_names, y_true, y_pred, offsets)["all"].f1


def _entities(kind: np.ndarray, begins: np.ndarray, closes: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the entities in order of their starts, (n, 3): first token, last token, type."""
    inside = kind >= 0
    # the type of an entity that is still open before each token
    before = np.where(first, -1, np.concatenate([[-1], np.where(closes, -1, kind)[:-1]]))
    start = inside & (begins | (before != kind))
    ends_before = np.append(start[1:] | ~inside[1:] | first[1:], True)
    starts, lasts = np.flatnonzero(start), np.flatnonzero(inside & ends_before)
    return np.stack([starts, lasts, kind[starts]], axis=1)
