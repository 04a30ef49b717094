"""Permission to act on one node, bound to an epoch and limited in time.

It holds what the records said at one moment. The service keeps it while its
fence is open under the same epoch, at most for a heartbeat interval. A long
operation confirms it before each step.
"""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.membership.service_context import ServiceContext


@dataclasses.dataclass(frozen=True)
class Confirmation:
    """One answer of the records.

    :param until: when it is too old to act on, in seconds by the clock of
        the fence.
    """

    record: model.ComputeNode
    until: float


class Right:
    """The right of one service to act on one node, under one epoch.

    :param longest: seconds for which one answer of the records counts.
    :raises FencedError: if the service has no right to act.
    """

    def __init__(
        self, context: ServiceContext, uuid: str, longest: float
    ) -> None:
        self._context = context
        self._uuid = uuid
        self._longest = longest
        self.lease = context.fence.lease()

    @property
    def host(self) -> str:
        """The service."""
        return self._context.host

    def confirm(self) -> Confirmation:
        """Read the service and the record, in one query.

        :raises FencedError: if the right has ended since it was granted.
        :raises NotOwnerError: if the node is not on record with the service.
        :raises RecordsError: if the records do not answer.
        """
        # Times count from before the read: its answer may be delayed.
        started = self._context.clock()
        lease = self._current_lease()
        row, record = self._context.ports.records.service_and_node(
            self.host, self._uuid
        )
        _check_service(self.host, lease.epoch, row)
        if record is None or record.host != self.host:
            raise _not_owner(self.host, self._uuid, record)
        until = min(lease.until, started + self._longest)
        self._current_lease()
        if self._context.clock() >= until:
            raise exceptions.FencedError(
                f'{self.host} may not act on the node {self._uuid}: the '
                'records answered too late',
                hint='Try again',
            )
        return Confirmation(record, until)

    def remaining(self, confirmed: Confirmation) -> float:
        """Return the seconds for which an answer counts; at most 0 if ended.

        Reads nothing.
        """
        try:
            self._current_lease()
        except exceptions.FencedError:
            return 0.0
        return confirmed.until - self._context.clock()

    def _current_lease(self) -> fence.Lease:
        found = self._context.fence.lease()
        if found.term != self.lease.term:
            raise exceptions.FencedError(
                f'{self.host} was fenced since it was permitted to act on '
                f'the node {self._uuid}, and has registered again',
                hint='Ask the guard again',
            )
        return found


class Permission:
    """Permission of a service to act on one node.

    Use it at once, or call :meth:`confirm` before each step of a long
    operation. Threading: any thread.

    :ivar node: the node as Ironic had it before the permission was given.
    :ivar in_scope: whether it is in the shard and conductor group of the
        service, which a deployed node may have left.
    """

    def __init__(
        self,
        node: model.Node,
        right: Right,
        confirmed: Confirmation,
        *,
        in_scope: bool = True,
    ) -> None:
        self.node = node
        self.in_scope = in_scope
        self._right = right
        self._confirmed = confirmed

    @property
    def host(self) -> str:
        """The service that may act."""
        return self._right.host

    @property
    def epoch(self) -> int:
        """The epoch of the service under which the permission was given."""
        return self._right.lease.epoch

    @property
    def deadline(self) -> float:
        """The time of its end unless confirmed, by the clock of the fence.

        In seconds; the clock is ``monotonic`` of ``membership.fence``.
        """
        return self._confirmed.until

    @property
    def remaining(self) -> float:
        """Seconds until it ends unless confirmed; at most 0 if it ended.

        A local check without IO, cheap enough for every step.
        """
        return self._right.remaining(self._confirmed)

    @property
    def is_valid(self) -> bool:
        """True if the service may act at this moment, as far as it knows."""
        return self.remaining > 0

    def confirm(self) -> None:
        """Read the records again, and renew the permission. One query.

        :raises FencedError: if the service was fenced since the permission
            was given, has lost its membership or is forced down, or if the
            records answered too late.
        :raises NotOwnerError: if the node is no longer on record with it.
        :raises RecordsError: if the records do not answer.
        """
        self._confirmed = self._right.confirm()


def _check_service(host: str, epoch: int, row: model.Service | None) -> None:
    if row is not None and row.forced_down:
        raise exceptions.FencedError(
            f'{host} is forced down',
            hint=f'Run "ironic-ownership service set {host} --up" once '
            'nothing else acts on its nodes',
            lasting=True,
        )
    if row is None or row.fenced or row.epoch != epoch:
        raise exceptions.FencedError(
            f'{host} was fenced: another service, or another process of this '
            'one, has taken over its right to act',
            hint='It acts again after it has registered again',
        )


def _not_owner(
    host: str, uuid: str, record: model.ComputeNode | None
) -> exceptions.NotOwnerError:
    owner = record.host if record else None
    if not owner:
        return exceptions.NotOwnerError(
            f'{host} does not own the node {uuid}: it is unowned',
            hint='Wait for the next refresh, which may claim it',
        )
    return exceptions.NotOwnerError(
        f'{host} does not own the node {uuid}: on record it belongs to '
        f'{owner}',
        hint=f'Ask {owner}, or move the node: ironic-ownership compute node '
        f'move {uuid} --service {host}',
        owner=owner,
    )
