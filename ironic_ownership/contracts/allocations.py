"""The port to allocations: Ironic's own reservations of nodes.

Ironic arbitrates between services on different machines: it gives a node to
one instance only.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Collection, Sequence

MARKER = 'ironic_ownership'
"""Key of the service's name in Ironic's ``extra``."""


class AllocationState(enum.StrEnum):
    """State of an allocation in Ironic."""

    ALLOCATING = 'allocating'
    """Ironic is still searching for a node."""

    ACTIVE = 'active'
    """The node is the instance's."""

    ERROR = 'error'
    """None of the nodes was available; ``last_error`` has the reason."""


@dataclasses.dataclass(frozen=True, slots=True)
class Allocation:
    """A reservation as Ironic has it.

    :param owner: canonical name of the service for which this project made
        it; ``None`` if another client did.
    """

    instance_uuid: str
    state: AllocationState
    node_uuid: str | None = None
    owner: str | None = None
    last_error: str | None = None


class Allocations(abc.ABC):
    """Reserves nodes in Ironic; every call is idempotent.

    Threading: one thread at a time. Blocking: seconds, up to the time-out of
    a request, so never from the heartbeat thread. Failure:
    :class:`IronicUnavailableError` where a retry may succeed, also for 503;
    the request may have taken effect, and the same call again finds out.
    Otherwise :class:`IronicError`.
    """

    @abc.abstractmethod
    def create(
        self,
        instance_uuid: str,
        *,
        resource_class: str,
        candidates: Sequence[str],
        owner: str,
        traits: Collection[str] = (),
    ) -> Allocation:
        """Reserve one of some nodes for an instance, and wait for the result.

        An earlier allocation of the owner for the instance is returned as it
        is, unless it ended in an error: then it is replaced.

        :param resource_class: of all the candidates, exactly as in Ironic.
        :param candidates: uuids of the acceptable nodes; at least one.
        :param traits: checked by Ironic, too.
        :returns: ``ACTIVE``, or ``ERROR`` if none of them was available, or
            ``ALLOCATING`` if Ironic took longer than a bounded time.
        :raises AllocationConflictError: if another client has one for the
            instance.
        """

    @abc.abstractmethod
    def get(self, instance_uuid: str) -> Allocation | None:
        """Look up the allocation of an instance, made by any client."""

    @abc.abstractmethod
    def delete(self, instance_uuid: str) -> bool:
        """Release the node of an instance.

        :returns: ``False`` if there was no allocation.
        :raises AllocationInUseError: while Ironic does not release it: the
            node is deployed, or an operation is running on it.
        :raises AllocationConflictError: if another client made it.
        """

    @abc.abstractmethod
    def mine(self, owner: str) -> Sequence[Allocation]:
        """List the allocations that this project made for a service."""
