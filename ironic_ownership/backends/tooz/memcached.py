"""memcached: a cache, which may lose its data; for small deployments."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from tooz import coordination

from ironic_ownership.backends.tooz import driver

# memcached takes a longer time to live for a date.
_LONGEST_TTL = 30 * 24 * 3600

_SHORTEST_TTL = 2
"""It counts in seconds: a shorter time to live becomes this one."""

_LONGEST_WAIT = 0.05
"""Seconds before the next attempt to change the item."""


class MemcachedDriver(driver.Driver):
    """A memcached server."""

    name = 'memcached'
    schemes = ('memcached',)
    library = 'pymemcache'
    extra = 'memcached'
    capabilities: ClassVar[driver.Capabilities] = driver.SERVER
    reads_in_bulk = True

    @property
    def whole_ttl(self) -> int:
        """Seconds with one more: its clock ticks once per second."""
        return super().whole_ttl + 1

    def faults(self) -> Sequence[str]:
        found = list(super().faults())
        if self.ttl < _SHORTEST_TTL:
            found.append(
                'memcached counts in seconds and keeps nothing for less: '
                f'set [membership] member_ttl to {_SHORTEST_TTL} or more'
            )
        if self.whole_ttl > _LONGEST_TTL:
            found.append(
                f'memcached keeps nothing for longer than {_LONGEST_TTL} s: '
                f'set [membership] member_ttl to {_LONGEST_TTL - 1} or less'
            )
        return found

    def options(self) -> Mapping[str, Any]:
        return {**super().options(), 'leader_timeout': self.whole_ttl}

    def prepare(self, coordinator: Any) -> None:
        coordinator.timeout = self.request_timeout

    def join(
        self,
        coordinator: Any,
        group: bytes,
        data: Mapping[str, str],
    ) -> None:
        """Change the item of all members.

        Of several clients that change it together one wins, and tooz lets the
        others wait for a second each time: six that join together would take
        longer than a member may live.
        """
        key = coordinator._encode_group_id(group)
        ends = time.monotonic() + self.call_timeout
        while time.monotonic() < ends:
            members, version = coordinator.client.gets(key)
            if members is None:
                raise coordination.GroupNotCreated(group)
            # In the format of tooz.
            members[coordinator._member_id] = {b'capabilities': dict(data)}
            if coordinator.client.cas(key, members, version):
                return
            time.sleep(random.uniform(0.001, _LONGEST_WAIT))  # noqa: S311
        raise coordination.OperationTimedOut('too many members join')

    def disconnect(self, coordinator: Any) -> None:
        coordinator.client.close()
