"""The ownership policies: what a third party writes to change who owns what.

A policy is a pure function in the shape of a class. It gets its options
once, when it is built, and afterwards answers from its arguments alone: no
IO, no clock, no randomness, no state between calls. The same policy runs in
every process, also for members other than the own one, and everywhere it
has to give the same answer.

Threading: an instance is shared between threads, and each method may be
called from several at once. Blocking: no method may block; all of them
together have to decide 100,000 nodes in seconds, and the host warns, naming
the policy, when they do not. Failure: whatever a method raises, and an answer
of another type than is documented, is a fault of the plugin: the host names
it and its distribution, changes no owner until it answers again, and ``check``
shows it. At start and at a reload a fault refuses the configuration.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ironic_ownership.contracts import model
from ironic_ownership.contracts.options import Option

ON_REQUEST = frozenset({'extra'})
"""Fields of :class:`Node` that are empty unless a policy asks for them:
they can be large, and most deployments decide nothing by them."""


class Policy(abc.ABC):
    """What filters and assigners have in common.

    Subclass :class:`FilterPolicy` or :class:`AssignerPolicy`, and define
    neither ``__len__`` nor ``__bool__``: loaders take a false instance for
    no instance.
    """

    contract_version: ClassVar[int]
    """The contract the plugin was written for; declare it as a number."""

    options: ClassVar[tuple[Option, ...]] = ()
    """The options that the policy brings."""

    deprecated: ClassVar[str] = ''
    """What to use instead, if the policy is deprecated."""

    node_fields: ClassVar[tuple[str, ...]] = ()
    """The fields that the policy reads of those in :data:`ON_REQUEST`.

    Every process in which the policy is installed then asks Ironic for them,
    whether the policy is selected there or not: any process decides for all
    members, and without the field it would decide something else."""

    def __init__(self, settings: Mapping[str, model.Value]) -> None:
        """Build the policy from its options.

        Called often: once for each kind of settings that members advertise,
        at every refresh of every host. No threads, no files, no connections.

        :param settings: a value for each declared option, by name.
        :raises PolicySettingsError: if the values cannot work together.
        """
        self._settings = dict(settings)

    def settings(self) -> Mapping[str, model.Value]:
        """Return the canonical options, as they are advertised to the peers.

        Equal meaning must give equal settings: sort what has no order, fold
        the case of what has no case. Building the policy from these settings
        again must give the same policy.

        :returns: a :data:`Value` for each declared option, none of them an
            option that is declared ``secret``: everybody may read this.
        """
        return self._settings

    def check_host(self, host: str) -> None:
        """Refuse options that cannot work on this host.

        Called once at start and at every reload, for the own host only.

        :param host: the canonical name of the own service.
        :raises PolicySettingsError: saying what to change.
        """
        return None

    def remarks(self) -> Sequence[str]:
        """Return what is accepted and yet may not be what was meant.

        Called once at start and at every reload, for the own host only.

        :returns: one line each, for the operator.
        """
        return ()


class FilterPolicy(Policy):
    """Says which nodes are eligible, node by node."""

    def scope(self) -> model.Scope:
        """Return what Ironic may filter on the server.

        Every node that :meth:`admits` accepts must lie in this scope; the
        default filters nothing. Always the same for the same policy.
        """
        return model.Scope()

    def admits(self, node: model.Node) -> bool:
        """Tell whether the node is eligible, from this node alone.

        The default admits what lies in the scope. Overriding it costs a call
        for each node in the scope.

        :param node: any node in the scope, whatever its state; fields that
            Ironic does not fill are ``None`` or empty. Do not change
            ``properties`` and ``extra``.
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
    """Whether the answer for a node is the same whatever other nodes are at
    hand. Who explains one node need not list the others then."""

    releases_free: ClassVar[bool] = False
    """Whether a service gives up a free node that the assigner gives to
    nobody. A node then belongs to somebody for as long as a reservation
    holds it. It goes to nobody this way, and never to another service."""

    def peers(
        self, host: str, candidates: Sequence[str], scope: model.Scope
    ) -> frozenset[str]:
        """Return the services among which ``host`` shares its nodes.

        :param host: canonical name of the service whose peers are asked for.
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

        :param nodes: all eligible nodes at hand. Their order means nothing.
        :param hosts: canonical names of the live peers, sorted, at least one.
            What is answered must not depend on their order either.
        :returns: for each node, in order, one of ``hosts``, or ``None`` for
            "nobody".
        """
