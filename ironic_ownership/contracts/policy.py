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
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ironic_ownership.contracts import model
from ironic_ownership.contracts.options import Option

ON_REQUEST = frozenset({'extra'})
"""Fields of :class:`Node` that are empty unless a policy requests them:
they can be large, and most deployments decide nothing by them."""


class Policy(abc.ABC):
    """Common base of filters and assigners.

    Subclass :class:`FilterPolicy` or :class:`AssignerPolicy`, and define
    neither ``__len__`` nor ``__bool__``: loaders treat a false instance as
    no instance.
    """

    contract_version: ClassVar[int]
    """The contract the plugin was written for; declare it as a number."""

    options: ClassVar[tuple[Option, ...]] = ()
    """The options that the policy brings."""

    deprecated: ClassVar[str] = ''
    """The replacement, if the policy is deprecated."""

    node_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that the policy reads of those in :data:`ON_REQUEST`.

    Every process in which the policy is installed then requests them from
    Ironic, even where the policy is not selected: each process decides for
    all members, and without the field its decisions would differ."""

    def __init__(self, settings: Mapping[str, model.Value]) -> None:
        """Build the policy from its options.

        Called often: at every refresh of every host, once for each distinct
        set of advertised settings. No threads, no files, no connections.

        :param settings: a value for each declared option, by name.
        :raises PolicySettingsError: if the values cannot work together.
        """
        self._settings = dict(settings)

    def settings(self) -> Mapping[str, model.Value]:
        """Return the canonical options, as they are advertised to the peers.

        Equal meaning must give equal settings: sort values without an order,
        fold the case of values without a case. Building the policy from these
        settings again must give the same policy.

        :returns: a :data:`Value` for each declared option, never for one
            that is declared ``secret``: settings are public.
        """
        return self._settings

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
    """Chooses one owner when several live members are eligible."""

    rebalancing: ClassVar[bool] = False
    """Whether free nodes may change owner when the members change."""

    extra_movement: ClassVar[float] = 0.0
    """The share of all nodes, from 0 to 1, that may change owner when one
    member leaves or joins, beyond those that have to: the nodes of the one
    that leaves, or those that go to the one that joins. For a policy that is
    ``rebalancing``; the contract suite holds it to this."""

    node_by_node: ClassVar[bool] = False
    """Whether the answer for a node is independent of the other nodes. One
    node can then be explained without listing the others."""

    releases_free: ClassVar[bool] = False
    """Whether a service releases a free node for which the assigner answers
    ``None``. A node then has an owner only while a reservation holds it. The
    release leaves it unowned; it never moves to another service this way."""

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

    @abc.abstractmethod
    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        """Choose an owner for each node.

        :param nodes: all eligible nodes. Their order has no meaning.
        :param hosts: canonical names of the live peers, sorted, at least one.
            The answer must not depend on their order either.
        :returns: for each node, in order, one of ``hosts``, or ``None`` to
            leave it unowned.
        """
