"""Consistent hashing with bounded loads, on plain texts.

V. Mirrokni, M. Thorup, M. Zadimoghaddam: "Consistent Hashing with Bounded
Loads", SODA 2018, https://arxiv.org/abs/1608.01350: as on any ring a key goes
to the first bin that follows it, but a full bin is skipped.

The result must not depend on the order of the keys, so each key has a rank:
those of a lower rank are placed first.
"""

from __future__ import annotations

import bisect
import hashlib
import struct
from collections.abc import Sequence

POINTS = 1024
"""Points of a bin on the ring. The shares of the bins are within 3 % of each
other, so few keys meet a full bin; more points would hardly help, because the
keys themselves are spread by chance."""

_WORD = 8


def capacity(keys: int, bins: int, percent: int) -> int:
    """Return the capacity of one bin, in keys.

    :param percent: of the mean.
    :returns: the least whole number that is not below that.
    """
    return -(-keys * percent // (100 * bins))


def spread(
    keys: Sequence[str], bins: Sequence[str], percent: int
) -> Sequence[str]:
    """Return the bin of each key, in the order of the keys.

    :param bins: names, at least one.
    :param percent: limit of each bin, in percent of the mean; over 100.
    """
    room = [capacity(len(keys), len(bins), percent)] * len(bins)
    names = sorted(bins)
    points, owners = _ring(names)
    chosen = [''] * len(keys)
    # Bound outside of the loop: it runs for 100,000 keys at a time.
    find, last = bisect.bisect_left, len(points)
    for _, position, number in _placed(keys):
        at = find(points, position) % last
        while not room[owners[at]]:
            at = (at + 1) % last
        owner = owners[at]
        room[owner] -= 1
        chosen[number] = names[owner]
    return chosen


def _ring(names: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the sorted points, and the number of the bin of each."""
    points = sorted(
        (point, number)
        for number, name in enumerate(names)
        for point in struct.unpack(
            f'>{POINTS}Q',
            hashlib.shake_128(name.encode()).digest(POINTS * _WORD),
        )
    )
    return [point for point, _ in points], [number for _, number in points]


def _placed(keys: Sequence[str]) -> list[tuple[bytes, int, int]]:
    """Return rank, position and number of each key, in the order of ranks."""
    blake = hashlib.blake2b
    digests = [blake(key.encode(), digest_size=16).digest() for key in keys]
    return sorted(
        (digest[_WORD:], int.from_bytes(digest[:_WORD]), number)
        for number, digest in enumerate(digests)
    )
