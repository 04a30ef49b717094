"""The contract of ownership policies, which decide who owns which node.

A policy is a pure function in the form of a class. It gets its options once,
when it is built, and afterwards answers from its arguments alone: no IO, no
clock, no randomness, no state between calls. The same policy runs in every
process, also for the other members, and has to give the same answer in all
of them.

Threading: an instance is shared between threads, which may call each method
concurrently. Blocking: no method may block; all of them together have to
decide 100,000 nodes in seconds, or the host logs a warning that names the
policy. Failure: any exception, and an answer of another type than documented,
is a fault of the plugin: the host names it and its distribution, changes no
owner until it answers again, and ``check`` shows it. At start and at a reload
a fault refuses the configuration.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from ironic_ownership.contracts import model
from ironic_ownership.contracts.options import Option, Source


@dataclasses.dataclass(frozen=True, slots=True)
class Peer:
    """A live service that can own the nodes of a request.

    :param host: canonical name.
    :param values: what the policy advertises for this service alone: its
        options with ``per_member``, or the result of ``member_values()``.
    """

    host: str
    values: Mapping[str, model.Value] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class AssignmentRequest:
    """The nodes to assign, and everything that may be decided from.

    :param nodes: all eligible nodes, with an instance or without. Their order
        has no meaning.
    :param peers: the live peers by host, at least one. Their order has no
        meaning either.
    :param owners: the service on record by the uuid of the node, which may
        be none of the peers. Empty unless the policy has ``reads_owners``.
    """

    nodes: Sequence[model.Node]
    peers: Sequence[Peer]
    owners: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The canonical names of the peers, in order."""
        return tuple(peer.host for peer in self.peers)


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The owner of one node, with a reason of the policy's own.

    :param host: one of the peers; ``None`` leaves the node unowned.
    :param reason: one line of at most 100 characters. Explanations and
        events show it.
    """

    host: str | None
    reason: str = ''


class Policy(abc.ABC):
    """Common base of filters and assigners.

    Subclass :class:`FilterPolicy` or :class:`AssignerPolicy`, and define
    neither ``__len__`` nor ``__bool__``: loaders treat a false instance as
    no instance.

    :cvar contract_version: the contract the plugin was written for; declare it
        as a number.
    :cvar options: the options that the policy brings.
    :cvar deprecated: the replacement, if the policy is deprecated.
    :cvar node_fields: the fields that the policy reads and that nodes have
        only on request. ``extra``, which is then in :attr:`Node.extra`, and
        since contract version 2 any field of :data:`NODE_FIELDS`, which is
        then in :attr:`Node.fields`. Of a field that is a mapping, such as
        ``driver_info``, a single key is requested:
        ``driver_info.ipmi_address``. Every process that decides for a service
        with this policy requests them from Ironic.
    :cvar sources: what the policy decides from besides Ironic, the members and
        its options: the service reads it in the background. Since contract
        version 2.
    """

    contract_version: ClassVar[int]

    options: ClassVar[tuple[Option, ...]] = ()

    deprecated: ClassVar[str] = ''

    node_fields: ClassVar[tuple[str, ...]] = ()

    sources: ClassVar[tuple[Source, ...]] = ()

    def __init__(self, settings: Mapping[str, model.Value]) -> None:
        """Build the policy from its options.

        Called often: at every refresh of every host, once for each distinct
        set of advertised settings. No threads, no files, no connections.

        :param settings: a value for each declared option, by name, and the
            snapshot of each source, ``None`` before the first one.
        :raises PolicySettingsError: if the values cannot work together.
        """
        self._settings = dict(settings)

    def settings(self) -> Mapping[str, model.Value]:
        """Return the canonical options, as they are advertised to the peers.

        Equal meaning must give equal settings: sort values without an order,
        fold the case of values without a case. Building the policy from these
        settings again must give the same policy.

        :returns: a :data:`Value` for each declared option and source, never
            for one that is declared ``secret``, since settings are public, nor
            for one that is ``per_member``.
        """
        apart = {*_apart(self)}
        return {
            name: value
            for name, value in self._settings.items()
            if name not in apart
        }

    def member_values(self) -> Mapping[str, model.Value]:
        """Return what this service advertises for itself alone.

        They are no part of what makes peers, so a rollout of changed values
        contests nothing. The assigner of the list gets those of all policies
        with each peer. Called in the own process of the service only, on the
        policy that was built from all options; the policies that decide are
        built from :meth:`settings`. Since contract version 2.

        :returns: by default the options and the snapshots of sources that are
            declared ``per_member``.
        """
        return {
            name: self._settings[name]
            for name in _apart(self)
            if name in self._settings
        }

    def check_host(self, host: str) -> None:
        """Refuse options that cannot work on this host.

        Called once at start and at every reload, for the own host only.

        :param host: the canonical name of the own service.
        :raises PolicySettingsError: with a hint what to change.
        """
        return None

    def remarks(self) -> Sequence[str]:
        """Return warnings about options that are accepted and look wrong.

        Called once at start and at every reload, for the own host only.

        :returns: one line each, for the operator.
        """
        return ()


def _apart(policy: Policy) -> Iterator[str]:
    """Yield the names of what a member advertises for itself alone."""
    yield from (option.name for option in policy.options if option.per_member)
    yield from (source.name for source in policy.sources if source.per_member)


class FilterPolicy(Policy):
    """Decides which nodes are eligible, node by node."""

    def scope(self) -> model.Scope:
        """Return the scope by which Ironic filters on the server.

        Every node that :meth:`admits` accepts must lie in this scope; the
        default filters nothing. Always the same for the same policy.
        """
        return model.Scope()

    def admits(self, node: model.Node) -> bool:
        """Tell whether the node is eligible, from this node alone.

        The default admits what lies in the scope. Overriding it costs a call
        for each node in the scope.

        :param node: any node in the scope, in any state; fields that Ironic
            does not fill are ``None`` or empty. Do not change ``properties``
            and ``extra``.
        :returns: ``True`` or ``False``; anything else is a fault.
        """
        return self.scope().matches(node.shard, node.conductor_group)


class AssignerPolicy(Policy):
    """Chooses one owner when several live members are eligible.

    :cvar rebalancing: whether free nodes may change owner when the members
        change.
    :cvar extra_movement: the share of all nodes, from 0 to 1, that may change
        owner when one member leaves or joins, beyond those that have to: the
        nodes of the one that leaves, or those that go to the one that joins.
        For a policy that is ``rebalancing``; the contract suite holds it to
        this.
    :cvar node_by_node: whether the answer for a node is independent of the
        other nodes. One node can then be explained without listing the others.
    :cvar reads_owners: whether the answer depends on the owners on record.
        Processes read the records at different moments, so the answer has to
        be stable: asked again with its own answers as the owners, the policy
        answers the same. Since contract version 2.
    :cvar releases_free: whether a service releases a free node of its own for
        which the assigner answers ``None``. A node then has an owner only
        while a reservation holds it. The release leaves it unowned; it never
        moves to another service this way. Without the flag, ``None`` releases
        a free node only under a policy that is ``rebalancing``, among several
        peers; else the node keeps its owner. One with an instance always does.
    """

    rebalancing: ClassVar[bool] = False

    extra_movement: ClassVar[float] = 0.0

    node_by_node: ClassVar[bool] = False

    reads_owners: ClassVar[bool] = False

    releases_free: ClassVar[bool] = False

    def peers(
        self, host: str, candidates: Sequence[str], scope: model.Scope
    ) -> frozenset[str]:
        """Return the services among which ``host`` shares its nodes.

        :param host: canonical name of the service.
        :param candidates: canonical names, in order, of all known services
            that advertise the same settings, alive or not, ``host`` included.
        :param scope: the scope that these services have in common.
        :returns: canonical names, ``host`` included. They need not be alive.
        """
        return frozenset(candidates)

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        """Choose an owner for each node, from nodes and hosts alone.

        Implement this, or :meth:`choose` for more.

        :param nodes: all eligible nodes, with an instance or without. Their
            order has no meaning.
        :param hosts: canonical names of the live peers, sorted, at least one.
            The answer must not depend on their order either.
        :returns: for each node, in order, one of ``hosts``, or ``None`` to
            leave it unowned.
        """
        raise NotImplementedError

    def choose(
        self, request: AssignmentRequest
    ) -> Sequence[Choice | str | None]:
        """Choose an owner for each node, from all that is in the request.

        Since contract version 2. The default calls :meth:`assign`.

        :returns: for each node, in order, the host of one of the peers, a
            :class:`Choice` of it with a reason, or ``None``.
        """
        return self.assign(request.nodes, request.hosts)

    def shares(self, peers: Sequence[Peer]) -> Mapping[str, float] | None:
        """Return how the nodes should be shared, for ``check``.

        Since contract version 2. Shares follow from the peers alone: ``check``
        and ``ring show`` compare records, without a list of the nodes.

        :param peers: the live peers, as in a request.
        :returns: by host, in any unit, such as its weight; ``None``, the
            default, for equal shares; an empty mapping for no expected
            shares, because they depend on the nodes, such as on the zones
            that these name: then no ring is reported as uneven.
        """
        return None
