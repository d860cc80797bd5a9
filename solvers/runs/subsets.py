"""Sets of weights kept in little memory: as bits, as the numbers of the members, or of a sample of them."""

from __future__ import annotations

import numpy as np

#: Members whose numbers are kept, at most, and bytes of bits.
MOST_MEMBERS = 2**18
MOST_BYTES = 2**20
#: Knuth's multiplier of a hash: 2³² over the golden ratio.
GOLDEN = np.uint32(2654435769)

#: Answers of ``contains``.
OUTSIDE, INSIDE, UNKNOWN = 0, 1, -1


def rank(members: np.ndarray) -> np.ndarray:
    """Rank weights by a number below 2³² for each weight, as good as random: a sample takes those of low
    rank, so that what is in a small sample is in every larger one."""
    return np.asarray(members).astype(np.uint32) * GOLDEN


def sampled(members: np.ndarray, most: int) -> tuple[np.ndarray, float]:
    """Return at most about ``most`` of the members, those of low rank, and their share: 1, ½, ¼, ..."""
    halvings = 0
    while members.size > most << halvings:
        halvings += 1
    if not halvings:
        return members, 1.0
    return members[rank(members) < np.uint32(2 ** (32 - halvings))], 0.5**halvings


def packed(members: np.ndarray | None, size: int) -> dict[str, np.ndarray]:
    """Pack a set of some of ``size`` weights, ascending (None: of all), in the form that takes least:
    ``all`` of them, ``bits``, or the numbers of a ``share`` of the ``members``; with its ``count``."""
    if members is None:
        return {"all": np.array(True), "count": np.array(size)}
    count = {"count": np.array(members.size)}
    if size <= 8 * min(4 * members.size, MOST_BYTES):
        inside = np.zeros(size, dtype=bool)
        inside[members] = True
        return count | {"bits": np.packbits(inside)}
    kept, share = sampled(members, MOST_MEMBERS)
    return count | {"members": kept.astype(np.int32), "share": np.array(share)}


def known_members(seen: dict[str, np.ndarray]) -> np.ndarray | None:
    """Return the members of a packed set, ascending; None where it holds all, or only a sample of them is
    known."""
    if "bits" in seen:
        return np.flatnonzero(np.unpackbits(seen["bits"]))
    return seen["members"] if "members" in seen and seen["share"] == 1.0 else None


def contains(seen: dict[str, np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Tell for each of these weights whether it is in a packed set: INSIDE, OUTSIDE, or UNKNOWN where only a
    sample of the members was kept, and the weight would not be in it."""
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
