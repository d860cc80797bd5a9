"""Sets of weights in little memory: as bits, as the indices of their members, or as a sample of these."""

from __future__ import annotations

import numpy as np

#: Indices of members, and bytes of bits, up to which a set is stored whole.
MOST_MEMBERS = 2**18
MAX_SUBSET_BYTES = 2**20
#: Knuth's multiplier of a hash: 2³² over the golden ratio.
GOLDEN = np.uint32(2654435769)

#: Values returned by ``contains``.
OUTSIDE, INSIDE, UNKNOWN = 0, 1, -1


def rank(members: np.ndarray) -> np.ndarray:
    """Return a pseudorandom number below 2³² for each weight.

    Samples consist of the weights of low rank, so that a small sample is a subset of every larger one.
    """
    return np.asarray(members).astype(np.uint32) * GOLDEN


def sampled(members: np.ndarray, most: int) -> tuple[np.ndarray, float]:
    """Return a sample of about ``most`` members at most, those of low rank, and its fraction: 1, ½, ¼, ..."""
    halvings = 0
    while members.size > most << halvings:
        halvings += 1
    if not halvings:
        return members, 1.0
    return members[rank(members) < np.uint32(2 ** (32 - halvings))], 0.5**halvings


def packed(members: np.ndarray | None, size: int) -> dict[str, np.ndarray]:
    """Return a set of some of ``size`` weights, given by ascending indices (None: all), in the smallest form.

    The form is ``all``, ``bits``, or the indices of a fraction (``share``) of the ``members``. ``count`` is
    the number of members.
    """
    if members is None:
        return {"all": np.array(True), "count": np.array(size)}
    count = {"count": np.array(members.size)}
    if size <= 8 * min(4 * members.size, MAX_SUBSET_BYTES):
        inside = np.zeros(size, dtype=bool)
        inside[members] = True
        return count | {"bits": np.packbits(inside)}
    kept, share = sampled(members, MOST_MEMBERS)
    return count | {"members": kept.astype(np.int32), "share": np.array(share)}


def known_members(seen: dict[str, np.ndarray]) -> np.ndarray | None:
    """Return the members of a packed set, ascending.

    Return None if the set has all weights, or if only a sample of it is stored.
    """
    if "bits" in seen:
        return np.flatnonzero(np.unpackbits(seen["bits"]))
    return seen["members"] if "members" in seen and seen["share"] == 1.0 else None


def contains(seen: dict[str, np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Return for each weight whether it is in a packed set: INSIDE, OUTSIDE or UNKNOWN.

    UNKNOWN is for weights whose rank is too high for the stored sample.
    """
    if "all" in seen:
        return np.full(weights.shape, INSIDE, dtype=np.int8)
    if "bits" in seen:
        return (seen["bits"][weights >> 3] >> (7 - (weights & 7)) & 1).astype(np.int8)
    members = seen["members"]
    places = np.minimum(np.searchsorted(members, weights), max(members.size - 1, 0))
    found = np.zeros(weights.shape, dtype=np.int8)
    if members.size:
        found[members[places] == weights] = INSIDE
    if seen["share"] < 1.0:
        found[rank(weights) >= np.uint32(2**32 * float(seen["share"]))] = UNKNOWN
    return found
