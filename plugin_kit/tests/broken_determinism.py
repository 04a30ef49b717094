"""Policies that depend on more than their arguments, one fault each.

In a module of their own: the suites import them in other processes.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import logging
import math
import os
import re
import threading
import time

from ironic_ownership.contracts import FilterPolicy, Option, OptionType, Scope
from tests.broken_policies import GoodAssigner, GoodFilter

LOG = logging.getLogger(__name__)
_OWNERS: dict[str, str] = {}
_LOCK = threading.Lock()
_calls = 0


# State between calls


class CountsCalls(GoodFilter):
    """Answers as ever for a hundred million calls."""

    calls = 0

    def admits(self, node):
        self.calls += 1
        return super().admits(node) and self.calls < 100_000_000


class CountsInGlobal(GoodFilter):
    def admits(self, node):
        global _calls  # noqa: PLW0603 - the fault
        _calls += 1
        return super().admits(node) and _calls < 100_000_000


class CountsInIterator(GoodFilter):
    counter = itertools.count()

    def admits(self, node):
        return super().admits(node) and next(self.counter) < 100_000_000


class CollectsInDefault(GoodAssigner):
    def place(self, node, seen=[]):  # noqa: B006 - the fault
        seen.append(node.uuid)
        return super().place(node)


class RemembersNodes(GoodFilter):
    """Keeps the first answer for a node, also after the node changed."""

    def __init__(self, settings):
        super().__init__(settings)
        self.known = {}

    def admits(self, node):
        return self.known.setdefault(node.uuid, super().admits(node))

    def scope(self):
        return Scope()


class RemembersOwnersInGlobal(GoodAssigner):
    """Keeps the first owner of a node while it lives, in every instance."""

    def assign(self, nodes, hosts):
        owners = super().assign(nodes, hosts)
        return [
            _OWNERS.setdefault(n.uuid, owner)
            if _OWNERS.get(n.uuid, owner) in hosts
            else owner
            for n, owner in zip(nodes, owners, strict=True)
        ]


# Floating-point functions, locks


class Logarithm(GoodAssigner):
    """Weighted rendezvous hashing, as textbooks have it."""

    def assign(self, nodes, hosts):
        return [
            max(sorted(hosts), key=lambda host: self.weight(host, node))
            for node in nodes
        ]

    def weight(self, host, node):
        digest = hashlib.sha256(f'{host} {node.uuid}'.encode()).digest()
        number = int.from_bytes(digest[:6]) + 1
        return -1 / math.log(number / (1 << 49))


class OwnLock(GoodFilter):
    def __init__(self, settings):
        super().__init__(settings)
        self.lock = _LOCK

    def admits(self, node):
        with self.lock:
            return super().admits(node)


class GlobalLock(GoodFilter):
    def admits(self, node):
        with _LOCK:
            return super().admits(node)


# Options


class DropsOption(GoodAssigner):
    """Advertises the default."""

    def settings(self):
        return {'salt': 0}


class UnsortedList(GoodFilter):
    def settings(self):
        return dict(self._settings)


class UnsortedListByDefault(FilterPolicy):
    """Nothing of the list is given."""

    contract_version = 1
    options = (Option('racks', OptionType.LIST, 'Racks.', default=()),)

    def admits(self, node):
        racks = self._settings['racks']
        return not racks or node.properties.get('rack') in racks


class KeepsOrder(FilterPolicy):
    """The order of its list counts: the last one is left out."""

    contract_version = 1
    options = (Option('racks', OptionType.LIST, 'Racks.', default=()),)

    def admits(self, node):
        return node.properties.get('rack') in self._settings['racks'][:-1]


class KeepsCaches(GoodFilter):
    """Makes things once, in ways that threads can share."""

    names = re.compile('x')

    @functools.cached_property
    def groups(self):
        return frozenset((self._settings['group'],))

    def admits(self, node):
        LOG.debug('asked for %s', node.uuid)
        return super().admits(node) and _is_in(
            node.conductor_group, self.groups
        )


@functools.lru_cache
def _is_in(group, groups):
    return group in groups


# Many members, long names


class LongNames(GoodAssigner):
    """The longer a name, the more nodes."""

    def assign(self, nodes, hosts):
        points = [host for host in sorted(hosts) for _ in host]
        return [points[self.place(n) % len(points)] for n in nodes]


class OrderBeyondTwenty(GoodAssigner):
    def assign(self, nodes, hosts):
        if len(hosts) <= 20:
            return super().assign(nodes, hosts)
        return [hosts[self.place(n) % len(hosts)] for n in nodes]


# No end


class Hangs(GoodFilter):
    def admits(self, node):
        while node.maintenance:
            pass
        return super().admits(node)


class HangsWhenBuilt(GoodFilter):
    def __init__(self, settings):
        super().__init__(settings)
        while True:
            time.sleep(60)


class HangsForGood(GoodFilter):
    """Nothing but a kill ends it."""

    def admits(self, node):
        while node.maintenance:
            try:
                time.sleep(60)
            except BaseException:  # noqa: BLE001 - the fault
                continue
        return super().admits(node)


class EndsTheProcess(GoodFilter):
    def admits(self, node):
        if node.maintenance:
            os._exit(0)
        return super().admits(node)
