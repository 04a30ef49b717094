"""Check that this service may act on one node at this moment.

A refresh may be a minute old, so record and Ironic are read again for the
one node before anything is done to it.

A caller with patience waits for what ends by itself: the service has just
lost its right and registers again, a node has no owner yet, a server does not
answer. What only an operator or another service can change is refused at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from oslo_log import log

from ironic_ownership.contracts import exceptions, model, request_header
from ironic_ownership.engine import availability
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host.client_pool import ClientPool
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import BareMetal

LOG = log.getLogger(__name__)

RETRY_DELAYS = (0.25, 0.5, 1.0, 2.0)
"""Seconds between two attempts; the last one counts for all further ones. A
change of the right to act ends the wait early."""

LONGEST_QUEUE = 60.0
"""Seconds for which a caller without patience waits for a client: as long as
a request may take."""

NO_INSTANCE = ''
"""Requires that Ironic has no instance on the node."""

_OUTAGES = (
    exceptions.RecordsUnavailableError,
    exceptions.IronicUnavailableError,
)


@dataclasses.dataclass(eq=False)
class Guard:
    """Checks nodes for one service.

    Threading: any thread.

    :param clients: of Ironic.
    :param longest: seconds for which a permission may last: a heartbeat
        interval, within which the service also learns that it was fenced.
    :param own_scope_only: refuse deployed nodes outside of the scope, too.
    :param shared_key: with which requests to Ironic are signed; may be empty.
    """

    context: ServiceContext
    policies: policy_set.PolicySet
    _: dataclasses.KW_ONLY
    longest: float
    clients: ClientPool
    own_scope_only: bool = False
    shared_key: str = ''

    def check(
        self,
        uuid: str,
        *,
        patience: float = 0.0,
        instance_uuid: str | None = None,
    ) -> Permission:
        """Permit to act on a node, if the service may.

        A node with an instance stays with its service until an operator moves
        it. Outside of the service's shard and group it is permitted unless
        ``own_scope_only``, with a warning.

        Source: ironic-shards, "Proposed change": shard and conductor group
        and the instance, or that there is none, are checked before anything
        is done; the look-up is not restricted.

        :param patience: seconds for which a refusal is waited for that may
            end by itself. A request under way is not interrupted.
        :param instance_uuid: the instance that has to be on the node in
            Ironic; :data:`NO_INSTANCE` if there may be none; ``None`` if that
            does not matter.
        :returns: the permission, with the node as Ironic has it.
        :raises FencedError: if the service may not act at all: it has lost
            its membership, was fenced, or is forced down; also if it had the
            right to act again, but not all the time since this call.
        :raises NotFoundError: if Ironic does not have the node.
        :raises NotOwnerError: if the node is on record with another service,
            or with none.
        :raises OtherInstanceError: if Ironic has another instance on the node
            than is required, or none; or the records another than the given
            one.
        :raises WrongScopeError: if a free node has left the service's scope,
            or a deployed one and ``own_scope_only``.
        :raises NodeOutOfServiceError: if no live conductor of the node's
            group has its driver; not checked if Ironic does not show its
            conductors to this service.
        :raises OwnershipError: if records or Ironic do not answer.
        """
        clock, changes = self.context.clock, self.context.fence.changes
        until = clock() + patience
        delays = iter(RETRY_DELAYS)
        while True:
            # Before the attempt, so that a change in the middle of it ends the
            # wait.
            seen = changes.count
            try:
                return self._attempt(uuid, instance_uuid, until - clock())
            except exceptions.OwnershipError as exc:
                remaining = until - clock()
                if remaining <= 0 or not _may_end(exc):
                    raise
            delay = next(delays, RETRY_DELAYS[-1])
            changes.wait(seen, min(delay, remaining))

    def _attempt(
        self, uuid: str, instance_uuid: str | None, patience: float
    ) -> Permission:
        permission = Permission(
            self.context, uuid, self.longest, self.shared_key
        )
        permission.confirm()  # so that Ironic is not asked in vain
        with self.clients.lend(max(patience, 0.0) or LONGEST_QUEUE) as ironic:
            node = permission.node = _read(ironic, uuid)
        # Last, because Ironic may take a minute: the records decide.
        recorded = permission.read().instance_uuid
        _check_instance(node, recorded, instance_uuid)
        deployed = node.instance_uuid or recorded
        permission.in_scope = (
            self.policies.may_admit(node.shard, node.conductor_group)
            if deployed
            else self.policies.admits(node)
        )
        if not permission.in_scope:
            refusal = self._wrong_scope(node)
            if self.own_scope_only or not deployed:
                raise refusal
            LOG.warning('%s. It has an instance, so it is served', refusal)
        return permission

    def _wrong_scope(self, node: model.Node) -> exceptions.WrongScopeError:
        return exceptions.WrongScopeError(
            f'the node {node.uuid} has left the scope of {self.context.host}: '
            f'its shard is {node.shard or "none"}, its conductor group '
            f'{node.conductor_group or "the default one"}',
            hint='Set them back in Ironic, or move the node to a service '
            'that admits it',
        )


def _check_instance(
    node: model.Node, recorded: str | None, required: str | None
) -> None:
    if required is None:
        return
    found = node.instance_uuid
    if found == required and recorded not in (None, found):
        found = recorded
    if (found or NO_INSTANCE) != required:
        raise exceptions.OtherInstanceError(node.uuid, required, found)


def _read(ironic: BareMetal, uuid: str) -> model.Node:
    """Read a node that a conductor can work on."""
    node = ironic.get(uuid)
    if node is None:
        raise exceptions.NotFoundError(f'Ironic does not have the node {uuid}')
    conductors = availability.required_conductors(ironic)
    availability.check_in_service(node, conductors)
    return node


def _may_end(refusal: exceptions.OwnershipError) -> bool:
    """Tell whether a refusal may end without an operator."""
    if isinstance(refusal, exceptions.FencedError):
        return not refusal.lasting
    if isinstance(refusal, exceptions.NotOwnerError):
        return refusal.owner is None
    return isinstance(refusal, _OUTAGES)


class Permission:
    """Permission of a service to act on one node, under one epoch.

    It holds what the records said at one moment, at most for a heartbeat
    interval, while the fence stays open under the same epoch. Use it at once,
    or call :meth:`confirm` before each step of a long operation.

    Threading: any thread.

    :param longest: seconds for which one answer of the records counts.
    :param shared_key: see :class:`Guard`.
    :raises FencedError: if the service has no right to act.
    :ivar node: the node as Ironic had it before the permission was given.
    :ivar in_scope: whether it is in the shard and conductor group of the
        service, which a deployed node may have left.
    """

    node: model.Node
    in_scope = True

    def __init__(
        self,
        context: ServiceContext,
        uuid: str,
        longest: float,
        shared_key: str = '',
    ) -> None:
        self._context = context
        self._uuid = uuid
        self._longest = longest
        self._key = shared_key
        self._given = context.fence.lease()
        self._releases: int | None = None
        self._until = float('-inf')

    @property
    def host(self) -> str:
        """The service that may act."""
        return self._context.host

    @property
    def epoch(self) -> int:
        """The epoch of the service under which the permission was given."""
        return self._given.epoch

    @property
    def deadline(self) -> float:
        """The time of its end unless confirmed, by the clock of the fence.

        In seconds; the clock is ``monotonic`` of ``membership.fence``.
        """
        return self._until

    @property
    def remaining(self) -> float:
        """Seconds until it ends unless confirmed; at most 0 if it ended.

        A local check without IO, cheap enough for every step.
        """
        try:
            self._lease()
        except exceptions.FencedError:
            return 0.0
        if self._has_released(self._releases):
            return 0.0
        return self._until - self._context.clock()

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
        self.read()

    def headers(self, method: str, url: str) -> Mapping[str, str]:
        """Return the header of one request to Ironic, for its middleware.

        Ironic refuses the request if the permission has ended meanwhile.

        :returns: nothing for a request that changes nothing, and without
            ``[enforcement] shared_key``.
        """
        if not self._key or method in request_header.READS:
            return {}
        claim = request_header.Claim(self.host, self.epoch, self._uuid)
        return {request_header.HEADER: claim.header(self._key, method, url)}

    def read(self) -> model.ComputeNode:  # Model: Permit
        """Confirm it, and return the record; errors as :meth:`confirm`."""
        # Times count from before the read: its answer may be delayed.
        started = self._context.clock()
        lease = self._lease()
        releases = self._context.fence.releases(self._uuid)
        row, record = self._context.ports.records.service_and_node(
            self.host, self._uuid
        )
        fence.check_row(self.host, lease.epoch, row)
        if record is None or record.host != self.host:
            raise _not_owner(self.host, self._uuid, record)
        until = min(lease.until, started + self._longest)
        # The right may have ended while the records were read.
        self._lease()
        if self._context.clock() >= until:
            raise exceptions.FencedError(
                f'{self.host} may not act on the node {self._uuid}: the '
                'records answered too late',
                hint='Try again',
            )
        if self._has_released(releases):
            raise _not_owner(self.host, self._uuid, None)
        self._until, self._releases = until, releases
        return record

    def _has_released(self, before: int | None) -> bool:
        """Tell whether the own service releases the node, or did so since."""
        return before is None or before != self._context.fence.releases(
            self._uuid
        )

    def _lease(self) -> fence.Lease:
        found = self._context.fence.lease()
        if found.term != self._given.term:
            raise exceptions.FencedError(
                f'{self.host} was fenced since it was permitted to act on '
                f'the node {self._uuid}, and has registered again',
                hint='Ask the guard again',
            )
        return found


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
        f'move {uuid} --to {host}',
        owner=owner,
    )
