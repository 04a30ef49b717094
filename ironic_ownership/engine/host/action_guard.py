"""Check that this service may act on one node at this moment.

A refresh may be a minute old, so record and Ironic are read again for the
one node before anything is done to it. Ironic may take a minute as well, so
the records are read last: they decide.

A caller with patience waits for what ends by itself: the service has just
lost its right and registers again, a node has no owner yet, a server does not
answer. What only an operator or another service can change is refused at once.
"""

from __future__ import annotations

import dataclasses
import itertools

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.inventory import Inventory
from ironic_ownership.engine.availability import conductors, evaluation
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host.client_pool import ClientPool
from ironic_ownership.engine.host.permission import Permission, Right
from ironic_ownership.engine.membership.service_context import ServiceContext

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
    """

    context: ServiceContext
    policies: policy_set.PolicySet
    _: dataclasses.KW_ONLY
    longest: float
    clients: ClientPool
    own_scope_only: bool = False

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
        for delay in itertools.chain(
            RETRY_DELAYS, itertools.repeat(RETRY_DELAYS[-1])
        ):
            seen = changes.count
            try:
                return self._attempt(uuid, instance_uuid, until - clock())
            except exceptions.OwnershipError as exc:
                remaining = until - clock()
                if remaining <= 0 or not _may_end(exc):
                    raise
            changes.wait(seen, min(delay, remaining))
        raise AssertionError('the delays do not end')

    def _attempt(
        self, uuid: str, instance_uuid: str | None, patience: float
    ) -> Permission:
        right = Right(self.context, uuid, self.longest)
        right.confirm()  # so that Ironic is not asked in vain
        with self.clients.lend(max(patience, 0.0) or LONGEST_QUEUE) as source:
            node = _read(source, uuid)
        confirmed = right.confirm()
        recorded = confirmed.record.instance_uuid
        _check_instance(node, recorded, instance_uuid)
        deployed = node.instance_uuid or recorded
        in_scope = (
            self.policies.may_admit(node.shard, node.conductor_group)
            if deployed
            else self.policies.admits(node)
        )
        if not in_scope:
            refusal = self._wrong_scope(node)
            if self.own_scope_only or not deployed:
                raise refusal
            LOG.warning('%s. It has an instance, so it is served', refusal)
        return Permission(node, right, confirmed, in_scope=in_scope)

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


def _read(source: Inventory, uuid: str) -> model.Node:
    """Read a node that a conductor can work on."""
    node = source.get(uuid)
    if node is None:
        raise exceptions.NotFoundError(f'Ironic does not have the node {uuid}')
    known = conductors.read(source)
    if isinstance(known.error, exceptions.IronicUnavailableError):
        raise known.error
    evaluation.check_in_service(node, known.fleet)
    return node


def _may_end(refusal: exceptions.OwnershipError) -> bool:
    """Tell whether a refusal may end without an operator."""
    if isinstance(refusal, exceptions.FencedError):
        return not refusal.lasting
    if isinstance(refusal, exceptions.NotOwnerError):
        return refusal.owner is None
    return isinstance(refusal, _OUTAGES)
