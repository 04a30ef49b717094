"""Reservations of nodes through Ironic's allocation API.

An allocation has the instance's uuid, which Ironic puts on the node, and a
mark in its ``extra`` that names its service.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from oslo_log import log

from ironic_ownership.clients.ironic import api, errors, nodes
from ironic_ownership.contracts import exceptions, reservations

if TYPE_CHECKING:
    from keystoneauth1 import adapter as ksa_adapter

LOG = log.getLogger(__name__)

SETTLING = 30.0
"""Seconds to wait for an allocation before the caller has to retry."""

State = reservations.AllocationState

_FIELDS = ('fields', 'uuid,node_uuid,state,last_error,extra')
_ATTEMPTS = 5
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 0.5
_ELSEWHERE = 'is already associated with a node'
_UNEXPECTED = 'Unexpected exception'
"""Part of Ironic's errors that are not about the nodes, such as that of a
database under load."""

_WRONG_CONDUCTOR = 'Could not find the following driver'
"""Ironic lets any conductor delete an allocation, also one without the driver
of its node; each request may reach another conductor."""


class IronicAllocations:
    """Reserves nodes in one Ironic; every call is idempotent.

    Threading: one thread at a time. Blocking: seconds, up to the time-out of
    a request, so never from the heartbeat thread. Failure:
    :class:`IronicUnavailableError` where a retry may succeed, also for 503;
    the request may have taken effect, and the same call again finds out.
    Otherwise :class:`IronicError`.
    """

    def __init__(
        self, adapter: ksa_adapter.Adapter, *, request_id: str | None = None
    ) -> None:
        self._api = api.IronicAPI(adapter, request_id)

    def create(
        self,
        instance_uuid: str,
        *,
        resource_class: str,
        candidates: Sequence[str],
        owner: str,
        traits: Collection[str] = (),
    ) -> reservations.Allocation:
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
        known = list(candidates)
        body: dict[str, Any] = {
            'uuid': instance_uuid,
            'resource_class': resource_class,
            'traits': sorted(traits),
            'extra': {reservations.MARKER: owner},
        }
        for _ in range(_ATTEMPTS + len(candidates)):
            if not known:
                return _nothing(instance_uuid, owner, 'no such nodes')
            try:
                made = _read(
                    self._api.write(
                        'POST',
                        '/allocations',
                        {**body, 'candidate_nodes': known},
                    )
                )
            except errors.BadRequestError as exc:
                known = _known(known, exc)
                continue
            except errors.ConflictError:
                found = self._existing(instance_uuid, owner)
                if found is None:
                    continue
                made = found
            return self._settled(made)
        raise exceptions.IronicUnavailableError(
            f'The allocation {instance_uuid} appears and disappears'
        )

    def _existing(
        self, instance_uuid: str, owner: str
    ) -> reservations.Allocation | None:
        found = self.get(instance_uuid)
        if found is not None and found.owner != owner:
            raise exceptions.AllocationConflictError(
                f'Ironic has an allocation {instance_uuid} of '
                f'{found.owner or "another client"}',
                hint='An instance has one node: is its uuid right?',
            )
        if found is not None and found.state is State.ERROR:
            self.delete(instance_uuid)
            return None
        return found

    def _settled(
        self, made: reservations.Allocation
    ) -> reservations.Allocation:
        deadline = time.monotonic() + SETTLING
        pause = _FIRST_PAUSE
        while made.state is State.ALLOCATING and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(2 * pause, _LAST_PAUSE)
            found = self.get(made.instance_uuid)
            if found is None:
                return _nothing(
                    made.instance_uuid,
                    made.owner,
                    'it was deleted in the meantime',
                )
            made = found
        if made.state is State.ERROR:
            self.delete(made.instance_uuid)
            _check_error(made)
        return made

    def get(self, instance_uuid: str) -> reservations.Allocation | None:
        """Look up the allocation of an instance, made by any client."""
        try:
            return _read(
                self._api.get(
                    f'/allocations/{nodes.checked_uuid(instance_uuid)}',
                    [_FIELDS],
                    about=instance_uuid,
                )
            )
        except errors.NotFoundError:
            return None

    def delete(self, instance_uuid: str) -> bool:
        """Release the node of an instance.

        :returns: ``False`` if there was no allocation.
        :raises AllocationInUseError: while Ironic does not release it: the
            node is deployed, or an operation is running on it.
        :raises AllocationConflictError: if another client made it.
        """
        found = self.get(instance_uuid)
        if found is None:
            return False
        if found.owner is None:
            raise exceptions.AllocationConflictError(
                f'The allocation {instance_uuid} was made by another client',
                hint='That client has to delete it',
            )
        try:
            self._api.write(
                'DELETE', f'/allocations/{instance_uuid}', about=instance_uuid
            )
        except errors.NotFoundError:
            LOG.debug('The allocation %s is gone already', instance_uuid)
        except errors.ConflictError as exc:
            raise exceptions.AllocationInUseError(
                f'Ironic keeps the allocation {instance_uuid} of the node '
                f'{found.node_uuid}: {exc}',
                hint='Undeploy the node first, which frees it as well',
            ) from exc
        except exceptions.IronicError as exc:
            # The next request may reach another conductor.
            if _WRONG_CONDUCTOR not in str(exc):
                raise
            raise exceptions.IronicUnavailableError(str(exc)) from exc
        return True

    def mine(self, owner: str) -> Sequence[reservations.Allocation]:
        """List the allocations that this project made for a service."""
        walk = api.walk(self._api, 'allocations', [_FIELDS])
        ours = (
            _read(data)
            for data in walk
            if isinstance(data, dict) and _owner(data) == owner
        )
        return list({one.instance_uuid: one for one in ours}.values())


def _read(data: object) -> reservations.Allocation:
    if not isinstance(data, dict) or not nodes.is_uuid(data.get('uuid')):
        raise errors.unusable('an allocation')
    try:
        state = State(data.get('state') or State.ALLOCATING)
    except ValueError as exc:
        raise exceptions.IronicError(
            f'The state of the allocation {data["uuid"]} is unknown to this '
            f'release: {data["state"]!r}'
        ) from exc
    return reservations.Allocation(
        instance_uuid=data['uuid'],
        state=state,
        node_uuid=data.get('node_uuid'),
        owner=_owner(data),
        last_error=data.get('last_error'),
    )


def _owner(data: dict[str, Any]) -> str | None:
    extra = data.get('extra')
    owner = extra.get(reservations.MARKER) if isinstance(extra, dict) else None
    return owner if isinstance(owner, str) else None


def _check_error(made: reservations.Allocation) -> None:
    text = str(made.last_error)
    LOG.info('Ironic allocates no node for %s: %s', made.instance_uuid, text)
    if _ELSEWHERE in text:
        raise exceptions.AllocationConflictError(
            f'Ironic has the instance {made.instance_uuid} on a node, and no '
            'allocation for it',
            hint='An instance has one node: is its uuid right?',
        )
    if _UNEXPECTED in text:
        first = text.partition('\n')[0]
        raise exceptions.IronicUnavailableError(
            f'Ironic failed to allocate a node: {first[:300]}'
        )


def _nothing(
    instance_uuid: str, owner: str | None, why: str
) -> reservations.Allocation:
    return reservations.Allocation(
        instance_uuid, State.ERROR, owner=owner, last_error=why
    )


def _known(
    candidates: Sequence[str], refused: errors.BadRequestError
) -> list[str]:
    text = str(refused).lower()
    known = [uuid for uuid in candidates if uuid.lower() not in text]
    if len(known) == len(candidates):
        raise refused
    return known
