"""Policy set: the policies of one member, called as one.

Results of a wrong type are errors: ``None`` does not mean ``False``.

A policy of another package gets copies of the nodes. Python cannot forbid it
to change them, and the owner, the instance and the scope of a node are decided
and recorded from values that no such policy can reach.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Sequence

from ironic_ownership.contracts import model, policy
from ironic_ownership.engine.decision import plugin_guard

_OWN = f'{__name__.partition(".")[0]}.'
_values = operator.attrgetter(
    *(f.name for f in dataclasses.fields(model.Node))
)


@dataclasses.dataclass(frozen=True, eq=False)
class PolicySet:
    """The policies of one member; any process can build them.

    :param filters: all of them have to admit a node.
    :param assigner: chooses among several eligible members; without one
        ownership is exclusive.
    :param origin: names a policy that breaks its contract.
    """

    filters: tuple[policy.FilterPolicy, ...] = ()
    assigner: policy.AssignerPolicy | None = None
    origin: plugin_guard.Origin = plugin_guard.unknown_origin

    @classmethod
    def of(
        cls,
        policies: Iterable[policy.Policy],
        origin: plugin_guard.Origin = plugin_guard.unknown_origin,
    ) -> PolicySet:
        """Sort policies into filters and the assigner."""
        chosen = tuple(policies)
        return cls(
            tuple(p for p in chosen if isinstance(p, policy.FilterPolicy)),
            next(
                (p for p in chosen if isinstance(p, policy.AssignerPolicy)),
                None,
            ),
            origin,
        )

    @functools.cached_property
    def scope(self) -> model.Scope:
        """The scope that Ironic can filter by, for all filters together.

        Source: ironic-shards, "Config changes": shard and group add up.

        :raises PluginFaultError: if a filter fails.
        """
        scope = model.Scope()
        for filter_ in self.filters:
            with self._faults_of(filter_, 'scope'):
                its = filter_.scope()
                if not isinstance(its, model.Scope):
                    raise TypeError(f'{its!r} is not a Scope')
                scope = scope.intersect(its)
        return scope

    @functools.cached_property
    def beyond_scope(self) -> tuple[policy.FilterPolicy, ...]:
        """The filters that check more than the scope."""
        plain = policy.FilterPolicy.admits
        return tuple(f for f in self.filters if type(f).admits is not plain)

    @property
    def rebalancing(self) -> bool:
        """True if free nodes may change owner automatically."""
        return self.assigner is not None and self.assigner.rebalancing

    @property
    def releases_free(self) -> bool:
        """True if a node has an owner only while it is reserved."""
        return self.assigner is not None and self.assigner.releases_free

    def admits(self, node: model.Node) -> bool:
        """Tell whether every filter admits the node.

        :raises PluginFaultError: if a filter fails.
        """
        if not self.scope.matches(node.shard, node.conductor_group):
            return False
        for filter_ in self.beyond_scope:
            with self._faults_of(filter_, 'admits'):
                answer = filter_.admits(self._given(filter_, (node,))[0])
                if answer is not True and answer is not False:
                    raise TypeError(
                        f'{answer!r} is neither True nor False, for the node '
                        f'{node.uuid}'
                    )
            if not answer:
                return False
        return True

    def peers(self, host: str, candidates: Sequence[str]) -> frozenset[str]:
        """Return the services among which a host shares its nodes.

        :param candidates: hosts with the same settings, ``host`` included.
        :returns: hosts, ``host`` included; no other without an assigner.
        :raises PluginFaultError: if the assigner fails.
        """
        alone = frozenset((host,))
        if self.assigner is None:
            return alone
        with self._faults_of(self.assigner, 'peers'):
            found = self.assigner.peers(host, tuple(candidates), self.scope)
            if not isinstance(found, frozenset | set) or not all(
                isinstance(peer, str) for peer in found
            ):
                raise TypeError(f'{found!r} is not a set of hosts')
        return alone | found

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        """Return the owner that the assigner chooses for each node.

        :raises PluginFaultError: if it fails, or names another host.
        """
        assert self.assigner is not None
        with self._faults_of(self.assigner, 'assign'):
            # Tuples that it cannot change: owners are matched by position.
            given = self._given(self.assigner, nodes)
            owners = tuple(self.assigner.assign(given, tuple(hosts)))
        if len(owners) != len(nodes):
            raise self._fault(
                f'returned {len(owners)} owners for {len(nodes)} nodes'
            )
        for owner in _distinct(owners):
            if owner is not None and owner not in hosts:
                raise self._fault(
                    f'named {owner!r}, which is none of its live peers '
                    f'{", ".join(hosts)}'
                )
        return owners

    @staticmethod
    def _given(
        plugin: policy.Policy, nodes: Sequence[model.Node]
    ) -> tuple[model.Node, ...]:
        # The contract suite holds our own policies to leaving nodes alone.
        if type(plugin).__module__.startswith(_OWN):
            return tuple(nodes)
        return tuple(model.Node(*_values(node)) for node in nodes)

    def _faults_of(
        self, plugin: policy.Policy, method: str
    ) -> contextlib.AbstractContextManager[None]:
        return plugin_guard.faults_of(plugin, method, self.origin)

    def _fault(self, what: str) -> Exception:
        assert self.assigner is not None
        return plugin_guard.fault(self.assigner, 'assign', what, self.origin)


def _distinct(owners: Sequence[object]) -> Iterable[object]:
    try:
        return set(owners)
    except TypeError:  # an unhashable value, no host
        return owners


Interpreter = Callable[[model.MemberSettings], PolicySet | None]
"""Builds policies from advertised settings; ``None`` if it can't."""
