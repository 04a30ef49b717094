"""Reservations of nodes by their field ``instance_uuid``, for an older Ironic.

The field is unique, and Ironic never overwrites it: before API 1.52, only
this field decides a race of two services. Ironic checks nothing else then, so
the conditions of an allocation are checked here first. The node's ``extra``
gets a mark that names the instance too, because the mark stays when the
instance is taken off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oslo_log import log

from ironic_ownership.clients.ironic import api, errors, nodes, pagination
from ironic_ownership.contracts import allocations, exceptions, model

if TYPE_CHECKING:
    from keystoneauth1 import adapter as ksa_adapter

LOG = log.getLogger(__name__)

_FIELDS = ('fields', 'uuid,instance_uuid,provision_state,maintenance,extra')
_MARK = f'/extra/{allocations.MARKER}'
_AVAILABLE = frozenset((None, 'available'))
_NOT_DEPLOYED = _AVAILABLE | {'enroll', 'manageable'}
State = allocations.AllocationState


class IronicInstanceUUIDs(allocations.Allocations):
    """The nodes of one Ironic, reserved by their instance."""

    def __init__(
        self, adapter: ksa_adapter.Adapter, *, request_id: str | None = None
    ) -> None:
        self._api = api.IronicAPI(adapter, request_id)

    @property
    def method(self) -> allocations.Method:
        return allocations.Method.INSTANCE_UUID

    def check(self) -> None:
        self._api.negotiate()

    def create(
        self,
        instance_uuid: str,
        *,
        resource_class: str,
        candidates: Sequence[str],
        owner: str,
        traits: Collection[str] = (),
    ) -> allocations.Allocation:
        found = self._existing(instance_uuid, owner)
        if found is not None:
            return found
        refusals = []
        for uuid in candidates:
            why = self._unfit(uuid, resource_class, traits) or self._put(
                uuid, instance_uuid, owner
            )
            # Another call for the instance may have won, on any node.
            found = self._existing(instance_uuid, owner)
            if found is not None:
                return found
            refusals.append(f'{uuid}: {why or "it was given back"}')
        return allocations.Allocation(
            instance_uuid,
            State.ERROR,
            owner=owner,
            last_error='; '.join(refusals) or 'no such nodes',
        )

    def _existing(
        self, instance_uuid: str, owner: str
    ) -> allocations.Allocation | None:
        found = self.get(instance_uuid)
        if found is not None and found.owner != owner:
            raise exceptions.AllocationConflictError(
                f'Ironic has the instance {instance_uuid} on the node '
                f'{found.node_uuid} for {found.owner or "another client"}',
                hint='An instance has one node: is its uuid right?',
            )
        return found

    def _unfit(
        self, uuid: str, resource_class: str, traits: Collection[str]
    ) -> str | None:
        node = self._node(uuid)
        if node is None:
            return 'no such node'
        if node.maintenance:
            return 'it is in maintenance'
        if node.provision_state not in _AVAILABLE:
            return f'it is {node.provision_state}'
        if node.instance_uuid is not None:
            return f'it has the instance {node.instance_uuid}'
        if node.resource_class != resource_class:
            return f'its resource class is {node.resource_class}'
        missing = sorted(set(traits) - set(node.traits))
        return f'it lacks {", ".join(missing)}' if missing else None

    def _node(self, uuid: str) -> model.Node | None:
        try:
            data = self._api.get(
                f'/nodes/{nodes.checked_uuid(uuid)}',
                [nodes.query(self._api.minor)],
                about=uuid,
            )
        except errors.NotFoundError:
            return None
        return nodes.NodeReader().read(data)

    def _put(self, uuid: str, instance_uuid: str, owner: str) -> str | None:
        mark = {'service': owner, 'instance_uuid': instance_uuid}
        try:
            self._patch(
                uuid,
                [
                    {
                        'op': 'add',
                        'path': '/instance_uuid',
                        'value': instance_uuid,
                    },
                    {'op': 'add', 'path': _MARK, 'value': mark},
                ],
            )
        except (
            errors.NotFoundError,
            errors.ConflictError,
            errors.BadRequestError,
        ) as exc:
            LOG.info('Ironic does not give the node %s: %s', uuid, exc)
            return str(exc)
        return None

    def get(self, instance_uuid: str) -> allocations.Allocation | None:
        data = self._node_of(instance_uuid)
        return None if data is None else _read(data)

    def delete(self, instance_uuid: str) -> bool:
        """Unlike Ironic itself, refuse for a deployed node."""
        data = self._node_of(instance_uuid)
        if data is None:
            return False
        found = _read(data)
        uuid = str(found.node_uuid)
        if found.owner is None:
            raise exceptions.AllocationConflictError(
                f'Another client put the instance {found.instance_uuid} on '
                f'the node {uuid}',
                hint='That client has to take it off',
            )
        state = data.get('provision_state')
        if state not in _NOT_DEPLOYED and not data.get('maintenance'):
            raise exceptions.AllocationInUseError(
                f'The node {uuid} of the instance {found.instance_uuid} is '
                f'{state}',
                hint='Undeploy the node first, which frees it as well',
            )
        try:
            self._patch(
                uuid,
                [
                    {'op': 'remove', 'path': '/instance_uuid'},
                    {'op': 'remove', 'path': _MARK},
                ],
            )
        except errors.NotFoundError:
            LOG.debug('The node %s is gone already', uuid)
        except errors.ConflictError as exc:
            raise exceptions.AllocationInUseError(
                f'Ironic refuses to change the node {uuid}: {exc}',
                hint='Another operation has locked it: try again later',
            ) from exc
        return True

    def mine(self, owner: str) -> Sequence[allocations.Allocation]:
        found = map(_read, self._list('associated', 'true'))
        return [one for one in found if one.owner == owner]

    def _node_of(self, instance_uuid: str) -> Mapping[str, Any] | None:
        found = self._list('instance_uuid', nodes.checked_uuid(instance_uuid))
        return next((d for d in found if _instance(d) == instance_uuid), None)

    def _list(self, name: str, value: str) -> list[dict[str, Any]]:
        found = pagination.walk(self._api, 'nodes', [_FIELDS, (name, value)])
        return [data for data in found if isinstance(data, dict)]

    def _patch(self, uuid: str, changes: Sequence[Mapping[str, Any]]) -> None:
        self._api.write('PATCH', f'/nodes/{uuid}', list(changes), about=uuid)


def _read(data: Mapping[str, Any]) -> allocations.Allocation:
    instance_uuid = _instance(data)
    extra = data.get('extra')
    mark = extra.get(allocations.MARKER) if isinstance(extra, dict) else None
    ours = isinstance(mark, dict) and mark.get('instance_uuid') == (
        instance_uuid
    )
    owner = mark.get('service') if isinstance(mark, dict) and ours else None
    return allocations.Allocation(
        instance_uuid=instance_uuid,
        state=State.ACTIVE,
        node_uuid=data.get('uuid'),
        owner=owner if isinstance(owner, str) else None,
    )


def _instance(data: Mapping[str, Any]) -> str:
    return str(data.get('instance_uuid') or '')
