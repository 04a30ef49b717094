"""Policy set: the policies of one member, called as one.

Results of a wrong type are errors: ``None`` does not mean ``False``.

A policy of another package gets copies of the nodes. Python cannot forbid it
to change them, and the owner, the instance and the scope of a node are decided
and recorded from values that no such policy can reach.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import itertools
import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import exceptions, model, policy, texts
from ironic_ownership.contracts.reasons import Decision, Reason
from ironic_ownership.engine import plugin_guard

_OWN = f'{__name__.partition(".")[0]}.'
MAX_REASON = 100
"""Longest reason of a policy's own, in characters."""

_HOSTS = {str, type(None)}
_MAPPINGS = ('properties', 'extra', 'fields')
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
    :param known_scope: of earlier policies with the same settings, if it is
        known: a scope follows from the settings.
    """

    filters: tuple[policy.FilterPolicy, ...] = ()
    assigner: policy.AssignerPolicy | None = None
    origin: plugin_guard.Origin = plugin_guard.unknown_origin
    known_scope: list[model.Scope] = dataclasses.field(default_factory=list)

    @classmethod
    def of(
        cls,
        policies: Iterable[policy.Policy],
        origin: plugin_guard.Origin = plugin_guard.unknown_origin,
    ) -> PolicySet:
        """Sort policies into filters and the assigner."""
        chosen = tuple(policies)
        assigners = (p for p in chosen if isinstance(p, policy.AssignerPolicy))
        return cls(
            tuple(p for p in chosen if isinstance(p, policy.FilterPolicy)),
            next(assigners, None),
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
                scope = scope.intersect(plain_scope(filter_.scope()))
        self.known_scope[:] = [scope]
        return scope

    def may_admit(
        self, shard: str | None, group: str, node: model.Node | None = None
    ) -> bool:
        """Tell whether a node could be admitted, as far as policies answer.

        A policy that fails refuses nothing, and the others still count.

        :param node: without it only the scopes count.
        """
        with contextlib.suppress(exceptions.PluginFaultError):
            return (
                self.scope.matches(shard, group)
                if node is None
                else self.admits(node)
            )
        return all(
            one.matches(shard, group) for one in self.known_scope
        ) and not any(
            self._refuses(one, shard, group, node) for one in self.filters
        )

    def _refuses(
        self,
        one: policy.FilterPolicy,
        shard: str | None,
        group: str,
        node: model.Node | None,
    ) -> bool:
        """Tell whether one filter, on its own, refuses a node or a place."""
        with contextlib.suppress(exceptions.PluginFaultError):
            alone = PolicySet((one,), origin=self.origin)
            if not alone.scope.matches(shard, group):
                return True
        with contextlib.suppress(exceptions.PluginFaultError):
            if node is not None and any(f is one for f in self.beyond_scope):
                return not self._asked(one, node)
        return False

    @functools.cached_property
    def beyond_scope(self) -> tuple[policy.FilterPolicy, ...]:
        """The filters that check more than the scope."""
        plain = policy.FilterPolicy.admits
        return tuple(f for f in self.filters if type(f).admits is not plain)

    @functools.cached_property
    def is_foreign(self) -> bool:
        """True if a policy of another package is among them."""
        policies = (*self.filters, self.assigner)
        return any(p is not None and not _is_own(p) for p in policies)

    def origins_in(self, text: str) -> str:
        """Return the origin of each policy that a text names."""
        policies = (*self.filters, self.assigner)
        found = (self.origin(type(p)) for p in policies if p is not None)
        return ', '.join(
            one
            for one in found
            if any(
                name in text
                for name in re.findall("'[^']+'", one.partition(' from ')[0])
            )
        )

    @property
    def rebalancing(self) -> bool:
        """True if free nodes may change owner automatically."""
        return self.assigner is not None and self.assigner.rebalancing

    @property
    def releases_free(self) -> bool:
        """True if a node has an owner only while it is reserved."""
        return self.assigner is not None and self.assigner.releases_free

    @property
    def node_by_node(self) -> bool:
        """True if each decision is independent of the other nodes."""
        return self.assigner is None or self.assigner.node_by_node

    @property
    def reads_owners(self) -> bool:
        """True if a decision depends on the owners on record."""
        return self.assigner is not None and self.assigner.reads_owners

    def admits(self, node: model.Node) -> bool:
        """Tell whether every filter admits the node.

        :raises PluginFaultError: if a filter fails.
        """
        if not self.scope.matches(node.shard, node.conductor_group):
            return False
        return all(self._asked(one, node) for one in self.beyond_scope)

    def admits_in_time(self, node: model.Node) -> bool:
        """Tell the same, within the time limit of each.

        :raises PluginFaultError: if one fails, or does not answer.
        """
        return plugin_guard.bounded(
            functools.partial(self.admits, node), foreign=self.is_foreign
        )

    def _asked(self, one: policy.FilterPolicy, node: model.Node) -> bool:
        """Ask one filter.

        :raises PluginFaultError: if it fails.
        """
        with self._faults_of(one, 'admits'):
            answer = one.admits(self._given(one, (node,))[0])
            if answer is not True and answer is not False:
                # Without the node: many others may get the same answer.
                raise TypeError(f'{answer!r} is neither True nor False')
        return answer

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
            if isinstance(found, frozenset | set):
                # To read a set of a class of its own is the plugin's code.
                found = frozenset(found)
            if type(found) is not frozenset or {*map(type, found)} - {str}:
                raise TypeError(f'{found!r} is not a set of hosts')
        return alone | found

    def choose(
        self,
        nodes: Sequence[model.Node],
        peers: Sequence[policy.Peer],
        owners: Mapping[str, str | None],
    ) -> Sequence[Decision]:
        """Return what the assigner decides for each node.

        :param peers: by host.
        :param owners: on record, by uuid; passed on to a policy that reads
            them only.
        :raises PluginFaultError: if it fails, or names another host.
        """
        assert self.assigner is not None
        hosts = tuple(peer.host for peer in peers)
        with self._faults_of(self.assigner, self._method):
            # Tuples that it cannot change: owners are matched by position.
            given = self._given(self.assigner, nodes)
            answer: Iterable[object] = self.assigner.choose(
                policy.AssignmentRequest(
                    given, tuple(peers), self._known(nodes, owners)
                )
            )
            # One that is not read further may have no end.
            chosen: tuple[Any, ...] = tuple(
                itertools.islice(answer, len(nodes) + 1)
            )
        if len(chosen) != len(nodes):
            raise self._fault(
                f'returned {len(chosen)} owners for {len(nodes)} nodes'
            )
        with self._faults_of(self.assigner, self._method):
            # Types first: to compare a value may be the plugin's code. Hosts
            # alone need no look at each of 100,000 answers.
            if not {*map(type, chosen)} <= _HOSTS:
                chosen = tuple(map(self._plain, chosen))
            known = {
                one: self._checked(one, hosts) for one in dict.fromkeys(chosen)
            }
        return [known[one] for one in chosen]

    @property
    def _method(self) -> str:
        plain = policy.AssignerPolicy.choose
        assert self.assigner is not None
        return 'assign' if type(self.assigner).choose is plain else 'choose'

    def _known(
        self, nodes: Sequence[model.Node], owners: Mapping[str, str | None]
    ) -> dict[str, str]:
        if not self.reads_owners:
            return {}
        found = ((node.uuid, owners.get(node.uuid)) for node in nodes)
        return {uuid: owner for uuid, owner in found if owner is not None}

    def _plain(self, chosen: object) -> object:
        """Return an answer as a host, or with its reason, without code."""
        if isinstance(chosen, policy.Choice):
            owner, reason = self._plain(chosen.host), chosen.reason
            if type(reason) is not str or len(reason) > MAX_REASON:
                raise self._fault(
                    f'gave {_short(reason)} as a reason, which is not a text '
                    f'of at most {MAX_REASON} characters'
                )
            return owner, reason
        if type(chosen) in _HOSTS:
            return chosen
        raise self._fault(f'named {_short(chosen)}, which is not a host')

    def _checked(self, chosen: Any, hosts: Collection[str]) -> Decision:
        """Return the decision of an answer that names one of the hosts."""
        owner, reason = chosen if type(chosen) is tuple else (chosen, '')
        note = ' '.join(texts.plain(reason).split())
        if owner is None:
            return Decision(None, Reason.UNASSIGNED, note=note)
        if owner in hosts:
            return Decision(owner, Reason.ASSIGNED, note=note)
        raise self._fault(
            f'named {_short(owner)}, which is not one of its live peers '
            f'{", ".join(hosts)}'
        )

    def shares(
        self, peers: Sequence[policy.Peer]
    ) -> Mapping[str, float] | None:
        """Return the share of all nodes that each peer should have.

        :returns: by host, 1.0 in all; ``None`` for equal shares, and empty
            if none are expected.
        :raises PluginFaultError: if the assigner fails.
        """
        if self.assigner is None:
            return None
        with self._faults_of(self.assigner, 'shares'):
            found = self.assigner.shares(tuple(peers))
            if found is None:
                return None
            if not isinstance(found, Mapping):
                raise TypeError(f'{found!r} is not a mapping')
            if not found:
                return {}
            shares = {peer.host: float(found[peer.host]) for peer in peers}
            total = sum(shares.values())
            if not 0 < total < math.inf or min(shares.values()) < 0:
                raise ValueError(f'{found!r} are not shares')
        return {host: share / total for host, share in shares.items()}

    @staticmethod
    def _given(
        plugin: policy.Policy, nodes: Sequence[model.Node]
    ) -> tuple[model.Node, ...]:
        # The contract suite holds our own policies to leaving nodes alone.
        if _is_own(plugin):
            return tuple(nodes)
        return tuple(_copied(node) for node in nodes)

    def _faults_of(
        self, plugin: policy.Policy, method: str
    ) -> contextlib.AbstractContextManager[None]:
        return plugin_guard.faults_of(plugin, method, self.origin)

    def _fault(self, what: str) -> Exception:
        assert self.assigner is not None
        calling = self.assigner, self._method, self.origin
        return plugin_guard.fault(calling, what)


def plain_scope(found: object) -> model.Scope:
    """Return a scope of plain values: it is compared with those of others.

    :raises TypeError: if it is no scope.
    """
    if not isinstance(found, model.Scope):
        raise TypeError(f'{found!r} is not a Scope')
    shard, group, nothing = found.shard, found.conductor_group, found.nothing
    for kind in {type(shard), type(group)} - _HOSTS | {type(nothing)} - {bool}:
        raise TypeError(f'a {kind.__name__} in a Scope')
    return model.Scope(shard, group and group.lower(), nothing)


def _is_own(plugin: policy.Policy) -> bool:
    return type(plugin).__module__.startswith(_OWN)


def _copied(node: model.Node) -> model.Node:
    found = model.Node(*_values(node))
    for name in _MAPPINGS:
        original = getattr(node, name)
        if original:
            object.__setattr__(found, name, _copied_mapping(original))
    return found


def _copied_mapping(original: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: copy.deepcopy(value) if isinstance(value, dict | list) else value
        for key, value in original.items()
    }


def _short(value: object) -> str:
    return f'{value!r}'[:200]


Interpreter = Callable[[model.MemberSettings], PolicySet | None]
"""Builds policies from advertised settings; ``None`` if it can't."""


def prepare(services: Iterable[model.Service], interpret: Interpreter) -> None:
    """Build the policies of all services, before nodes are read.

    Policies may need fields that Ironic only gives on request.
    """
    for settings in {service.settings for service in services}:
        interpret(settings)
