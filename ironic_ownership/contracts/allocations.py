"""The port to what makes a node one instance's: Ironic's own reservations.

Whatever the records say, Ironic is the one place where two services on two
machines can be told apart: it gives a node to one instance only.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Collection, Sequence

MARKER = 'ironic_ownership'
"""Key in Ironic's ``extra`` under which the service's name stands."""


class Method(enum.StrEnum):
    """By what a node is reserved in Ironic."""

    ALLOCATION = 'allocation'
    """An allocation whose uuid is the instance's; API 1.52 or newer."""

    INSTANCE_UUID = 'instance_uuid'
    """The node's field of that name alone, for an older Ironic."""


class AllocationState(enum.StrEnum):
    """How far Ironic is with it."""

    ALLOCATING = 'allocating'
    """Ironic still looks for a node."""

    ACTIVE = 'active'
    """The node is the instance's."""

    ERROR = 'error'
    """None of the nodes could be had; ``last_error`` says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Allocation:
    """What Ironic knows of a reservation.

    :param node_uuid: of the node that was given; ``None`` if none was yet.
    :param owner: canonical name of the service for which this project made
        it; ``None`` if somebody else did.
    """

    instance_uuid: str
    state: AllocationState
    node_uuid: str | None = None
    owner: str | None = None
    last_error: str | None = None


class Allocations(abc.ABC):
    """Reserves nodes in Ironic; each call can be made again and again.

    Threading: one thread at a time. Blocking: seconds, up to the time-out of
    a request, so never from the heartbeat thread. Failure:
    :class:`IronicUnavailableError` for what may pass, also an answer of 503;
    then Ironic may have done it or not, and the same call again finds out.
    :class:`IronicError` for what will not pass.
    """

    @property
    @abc.abstractmethod
    def method(self) -> Method:
        """By what it reserves."""

    @abc.abstractmethod
    def check(self) -> None:
        """Refuse a server that cannot reserve by this method.

        Source: multiple-compute-hosts, "Other deployer impact".

        :raises IronicTooOldError: naming the microversion that is needed.
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
        """Reserve one of some nodes for an instance, and wait for the end.

        What the owner made for the instance before is returned as it is,
        unless it ended in an error: then it is made anew.

        :param resource_class: of all the candidates, exactly as in Ironic.
        :param candidates: uuids of the nodes that will do; at least one.
        :param owner: canonical name of the service.
        :param traits: that Ironic has to see on the node, too.
        :returns: ``ACTIVE``, or ``ERROR`` if none of them could be had, or
            ``ALLOCATING`` if Ironic took longer than a bounded time.
        :raises AllocationConflictError: if somebody else has one for the
            instance.
        """

    @abc.abstractmethod
    def get(self, instance_uuid: str) -> Allocation | None:
        """Look up what there is for an instance, whoever made it."""

    @abc.abstractmethod
    def delete(self, instance_uuid: str) -> bool:
        """Give the node of an instance back.

        :returns: ``False`` if there was nothing.
        :raises AllocationInUseError: while Ironic does not let go of it:
            the node is deployed, or worked on just now.
        :raises AllocationConflictError: if somebody else made it.
        """

    @abc.abstractmethod
    def mine(self, owner: str) -> Sequence[Allocation]:
        """List all that this project made for a service: all or an error."""
