"""The ownership policies: what a third party writes to change who owns what.

A policy is a pure function in the shape of a class. It gets its options
once, when it is built, and afterwards answers from its arguments alone: no
IO, no clock, no randomness, no state between calls. The same policy runs in
every process, also for members other than the own one, and everywhere it
has to give the same answer.

Threading: an instance is shared between threads. Blocking: no method may
block. Failure: whatever a method raises is taken as a fault of the plugin;
the host keeps the last good decisions and names the plugin.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ironic_ownership.contracts import model
from ironic_ownership.contracts import options as options_


class Policy(abc.ABC):
    """What filters and assigners have in common.

    Subclass :class:`FilterPolicy` or :class:`AssignerPolicy`, and define
    neither ``__len__`` nor ``__bool__``: loaders take a false instance for
    no instance.
    """

    contract_version: ClassVar[int]
    """The contract the plugin was written for; declare it as a number."""

    options: ClassVar[tuple[options_.Option, ...]] = ()
    """The options that the policy brings."""

    deprecated: ClassVar[str] = ''
    """What to use instead, if the policy is deprecated."""

    def __init__(self, settings: Mapping[str, model.Value]) -> None:
        """Build the policy from its options.

        :param settings: a value for each declared option, by name.
        :raises PolicySettingsError: if the values cannot work together.
        """
        self._settings = dict(settings)

    def settings(self) -> Mapping[str, model.Value]:
        """Return the canonical options, as they are advertised to the peers.

        Equal meaning must give equal settings: sort what has no order, fold
        the case of what has no case. Building the policy from these settings
        again must give the same policy.
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

        Each is one line that the operator reads at start and at a reload.
        """
        return ()


class FilterPolicy(Policy):
    """Says which nodes are eligible, node by node."""

    def scope(self) -> model.Scope:
        """Return what Ironic may filter on the server.

        Every node that :meth:`admits` accepts must lie in this scope; the
        default filters nothing.
        """
        return model.Scope()

    def admits(self, node: model.Node) -> bool:
        """Tell whether the node is eligible, from this node alone.

        The default admits what lies in the scope.
        """
        return self.scope().matches(node.shard, node.conductor_group)


class AssignerPolicy(Policy):
    """Chooses one owner when several live members are eligible."""

    rebalancing: ClassVar[bool] = False
    """Whether free nodes may change owner when the members change."""

    node_by_node: ClassVar[bool] = False
    """Whether the answer for a node is the same whatever other nodes are at
    hand. Who explains one node need not list the others then."""

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
        :returns: for each node, in order, one of ``hosts``, or ``None`` for
            "nobody".
        """
