"""A consistent hash ring whose answers are those of tooz, and so of Nova.

tooz builds a set of all its hosts for each lookup, so its cost grows with the
hosts; here most lookups are one digest and one table access. Immutable: each
set of hosts has a ring of its own.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence

try:
    # Half the time of OpenSSL's for a key as short as a uuid, and available
    # where a security policy disables md5: nothing secret is hashed here.
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:  # a Python built without it
    from hashlib import md5

POINTS_PER_HOST = 32
_PREFIXES = 1 << 16


class Ring:
    """The points of a set of hosts on the circle of md5 digests.

    :param hosts: canonical host names, at least one.
    """

    def __init__(self, hosts: Iterable[str]) -> None:
        points = {
            point: host for host in sorted(hosts) for point in _points(host)
        }
        # Digests of one length order as the numbers that tooz compares.
        self._digests = sorted(points)
        # One more owner than digests: past the last one the circle closes.
        owners = [points[digest] for digest in self._digests]
        self._owners = [*owners, owners[0]]
        self._by_prefix = self._owners_by_prefix()

    def owners(self, keys: Iterable[str]) -> Sequence[str]:
        """Return the host whose point follows the digest of each key."""
        # Bound outside of the loop: this runs for 100,000 keys at a time.
        digests, owners, by_prefix = (
            self._digests,
            self._owners,
            self._by_prefix,
        )
        find = bisect.bisect_right
        return [
            by_prefix[digest[0] << 8 | digest[1]]
            or owners[find(digests, digest)]
            for key in keys
            if (digest := md5(key.encode()).digest())
        ]

    def _owners_by_prefix(self) -> list[str | None]:
        # Two leading bytes decide alone wherever no point shares them.
        table: list[str | None] = []
        for digest, owner in zip(self._digests, self._owners, strict=False):
            prefix = digest[0] << 8 | digest[1]
            table.extend([owner] * (prefix - len(table)))
            if len(table) == prefix:
                table.append(None)
        table.extend([self._owners[-1]] * (_PREFIXES - len(table)))
        return table


def _points(host: str) -> Iterable[bytes]:
    # tooz feeds the name to one running digest: first once, then again for
    # each point.
    name = host.encode()
    running = md5(name)
    for _ in range(POINTS_PER_HOST):
        running.update(name)
        yield running.digest()
