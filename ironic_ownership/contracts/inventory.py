"""The port to the nodes of Ironic."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import model


class Inventory(abc.ABC):
    """The nodes that Ironic has.

    Threading: one thread at a time. Blocking: seconds to minutes, so never
    from the heartbeat thread. Failure: :class:`IronicUnavailableError` where
    a retry may succeed, else :class:`IronicError`.
    """

    @abc.abstractmethod
    def check(self, scope: model.Scope) -> None:
        """Refuse a server that cannot filter by what the scope names.

        :raises IronicTooOldError: naming the microversion that is needed.
        """

    @abc.abstractmethod
    def scan(self, scope: model.Scope) -> Sequence[model.Node]:
        """List every node in the scope once, never a part of the list."""

    @abc.abstractmethod
    def instances(self, scope: model.Scope) -> Mapping[str, str]:
        """List all nodes in the scope with an instance, cheaper than a scan.

        :returns: uuid of the instance, by uuid of the node.
        """

    def free(
        self,
        scope: model.Scope,
        *,
        resource_class: str | None = None,
        enough: int | None = None,
    ) -> Sequence[model.Node]:
        """List nodes in the scope that are available and have no instance.

        Nodes that the server can't filter out may be among them. The default
        implementation reads a whole scan.

        :param resource_class: exactly as in Ironic; any, if not given.
        :param enough: limit of the result; without it all of them.
        """
        found = [
            node
            for node in self.scan(scope)
            if node.instance_uuid is None
            and node.provision_state in (None, 'available')
            and not node.maintenance
            and resource_class in (None, node.resource_class)
        ]
        return found[:enough]

    @abc.abstractmethod
    def count(self, scope: model.Scope) -> int:
        """Count the nodes in the scope that the credential may list.

        Child nodes count, though a scan leaves them out: so does
        :meth:`shard_counts`, with which this is compared.
        """

    @abc.abstractmethod
    def get(self, uuid: str) -> model.Node | None:
        """Get a node without any filter; ``None`` if Ironic answers 404."""

    @abc.abstractmethod
    def shard_counts(self) -> Mapping[str | None, int]:
        """Count the nodes of every shard, also those it may not list.

        :returns: by shard; the key ``None`` is for nodes without one.
        """

    @abc.abstractmethod
    def conductors(self) -> Sequence[model.Conductor]:
        """List all conductors, those that are not alive as well.

        :raises IronicTooOldError: if the server cannot list them.
        """
