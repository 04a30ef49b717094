"""The port through which an operator imports owners of nodes.

For deployments whose ownership is recorded elsewhere, before their services
decide themselves. A service is recorded as the owner of an unowned node; the
owner on record is never replaced.
"""

from __future__ import annotations

import abc
from collections.abc import Collection, Sequence

from ironic_ownership.contracts import model


class NodeImports(abc.ABC):
    """Imports of owners by operators.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer; then
    the transaction was carried out as a whole or not at all.
    """

    @abc.abstractmethod
    def claim(
        self,
        host: str,
        nodes: Sequence[model.Node],
        *,
        actor: str,
        request_id: str | None = None,
        create: bool = False,
    ) -> Collection[str]:
        """Record a service as the owner of unowned nodes, in one transaction.

        An instance that a node has is recorded with it. Leaves one event for
        each node, and one for each instance.

        :param host: canonical name of the service.
        :param nodes: as Ironic has them, each once.
        :param actor: user and place, for the events.
        :param request_id: of the operator's request.
        :param create: create the row of the service if there is none, as one
            that never registered.
        :returns: the uuids of the nodes that the service owns now; the others
            got an owner before.
        :raises NotFoundError: if there is no such service.
        :raises FencedError: if the service has no right to write: it was
            stopped or forced down. Nothing is changed.
        """
