"""A member's policies, put together: what they admit and who assigns.

What a policy answers is believed only if it is of the type that the contract
asks for: "nothing" is not "no".
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence

from ironic_ownership.contracts import model, policy
from ironic_ownership.engine.decision import plugin_guard


@dataclasses.dataclass(frozen=True, eq=False)
class PolicySet:
    """The policies of one member, as settings that any process can read.

    :param filters: all of them have to admit a node.
    :param assigner: chooses among several eligible members; without one
        ownership is exclusive.
    :param origin: names a policy that breaks its contract.
    """

    filters: tuple[policy.FilterPolicy, ...] = ()
    assigner: policy.AssignerPolicy | None = None
    origin: plugin_guard.Origin = plugin_guard.nobody_knows

    @classmethod
    def of(
        cls,
        policies: Iterable[policy.Policy],
        origin: plugin_guard.Origin = plugin_guard.nobody_knows,
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
        """What Ironic may filter on the server for all filters together.

        Source: ironic-shards, "Config changes": shard and group add up.

        :raises PluginFaultError: if a filter fails to say.
        """
        scope = model.Scope()
        for filter_ in self.filters:
            with self._faults_of(filter_, 'scope'):
                its = filter_.scope()
                if not isinstance(its, model.Scope):
                    raise TypeError(f'{its!r} is no Scope')
                scope = scope.intersect(its)
        return scope

    @functools.cached_property
    def beyond_scope(self) -> tuple[policy.FilterPolicy, ...]:
        """The filters that ask more of a node than to lie in the scope."""
        plain = policy.FilterPolicy.admits
        return tuple(f for f in self.filters if type(f).admits is not plain)

    @property
    def rebalancing(self) -> bool:
        """Whether free nodes may change owner by themselves."""
        return self.assigner is not None and self.assigner.rebalancing

    @property
    def releases_free(self) -> bool:
        """Whether nodes belong to somebody only while they are reserved."""
        return self.assigner is not None and self.assigner.releases_free

    def admits(self, node: model.Node) -> bool:
        """Tell whether every filter admits the node.

        :raises PluginFaultError: if a filter fails to say.
        """
        if not self.scope.matches(node.shard, node.conductor_group):
            return False
        for filter_ in self.beyond_scope:
            with self._faults_of(filter_, 'admits'):
                answer = filter_.admits(node)
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
        :returns: hosts, ``host`` included; nobody else without an assigner.
        :raises PluginFaultError: if the assigner fails to say.
        """
        alone = frozenset((host,))
        if self.assigner is None:
            return alone
        with self._faults_of(self.assigner, 'peers'):
            found = self.assigner.peers(host, tuple(candidates), self.scope)
            if not isinstance(found, frozenset | set) or not all(
                isinstance(peer, str) for peer in found
            ):
                raise TypeError(f'{found!r} is no set of hosts')
        return alone | found

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        """Return what the assigner answers: an owner for each node.

        :raises PluginFaultError: if it fails to, or names somebody else.
        """
        assert self.assigner is not None
        with self._faults_of(self.assigner, 'assign'):
            # Copies that it cannot change: the next answers come by order.
            owners = tuple(self.assigner.assign(tuple(nodes), tuple(hosts)))
        if len(owners) != len(nodes):
            raise self._fault(
                f'answered {len(owners)} owners for {len(nodes)} nodes'
            )
        for owner in _distinct(owners):
            if owner is not None and owner not in hosts:
                raise self._fault(
                    f'named {owner!r}, none of its live peers '
                    f'{", ".join(hosts)}'
                )
        return owners

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
    except TypeError:  # one of them cannot even be a host
        return owners


Interpreter = Callable[[model.MemberSettings], PolicySet | None]
"""Reads advertised settings; ``None`` if this process does not know them."""
