"""The resource providers of a real Placement: the port, over openstacksdk.

It must never turn a failure into a missing provider or missing allocations:
by those answers a record is deleted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ironic_ownership.clients.placement import api
from ironic_ownership.contracts import exceptions, placement

if TYPE_CHECKING:
    from openstack import connection as sdk

ATTEMPTS = 4
"""How often a write is tried while other writers come between."""

T = TypeVar('T')


class PlacementClient(placement.Placement):
    """The providers of one Placement.

    :param connection: of openstacksdk, with a time-out on its session.
    :param request_id: "req-" and a uuid, for the server's log.
    """

    def __init__(
        self, connection: sdk.Connection, request_id: str | None = None
    ) -> None:
        self._api = api.PlacementAPI(connection, request_id)
        self._created: set[str] = set()

    def has_provider(self, uuid: str) -> bool:
        """Tell whether the node has a provider."""
        return self._get(uuid, '') is not None

    def consumers(self, uuid: str) -> frozenset[str] | None:
        """Return who holds allocations of the node's provider."""
        data = self._get(uuid, '/allocations')
        if data is None:
            return None
        allocations = data.get('allocations')
        if not isinstance(allocations, dict):
            raise _odd('allocations')
        return frozenset(map(str, allocations))

    def put_provider(
        self,
        uuid: str,
        name: str,
        *,
        confirm: placement.Confirm | None = None,
    ) -> bool:
        """Create a provider, unless there is one with that uuid."""
        _confirmed(confirm)
        try:
            self._api.send(
                'POST',
                '/resource_providers',
                body={'uuid': uuid, 'name': name},
            )
        except api.DuplicateFault as exc:
            # By its uuid; or sent twice, or by its name.
            if not self.has_provider(uuid):
                raise exceptions.PlacementRefusedError(
                    f'Another provider in Placement has the name {name!r}, '
                    f'so {uuid} gets none',
                    hint='See openstack resource provider show; delete it '
                    'if nobody uses it',
                ) from exc
            return False
        return True

    def delete_provider(self, uuid: str) -> bool:
        """Delete the provider of a node, with its inventory and traits."""
        try:
            self._api.send('DELETE', _path(uuid), about=uuid)
        except api.NoProviderFault:
            return False
        return True

    def inventory(self, uuid: str) -> placement.Inventory | None:
        """Return the inventory of a node; ``None`` without a provider."""
        data = self._get(uuid, '/inventories')
        return None if data is None else _inventory(data)

    def put_inventory(
        self,
        uuid: str,
        resources: Mapping[str, placement.Resource],
        *,
        generation: int | None = None,
        confirm: placement.Confirm | None = None,
    ) -> placement.Inventory:
        """Make these the whole inventory of a node."""
        wanted = {n: dataclasses.asdict(r) for n, r in resources.items()}

        def put(generation: int | None) -> placement.Inventory:
            if generation is None:
                seen = self.inventory(uuid)
                if seen is None:
                    raise _no_provider(uuid)
                if dict(seen.resources) == dict(resources):
                    return seen
                generation = seen.generation
            self._create('/resource_classes', resources, confirm)
            _confirmed(confirm)
            body = {
                'resource_provider_generation': generation,
                'inventories': wanted,
            }
            return _inventory(self._put(uuid, 'inventories', body))

        return _while_others_write(put, generation)

    def traits(self, uuid: str) -> placement.Traits | None:
        """Return the traits of a node; ``None`` without a provider."""
        data = self._get(uuid, '/traits')
        return None if data is None else _traits(data)

    def put_traits(
        self,
        uuid: str,
        names: Iterable[str],
        *,
        generation: int | None = None,
        confirm: placement.Confirm | None = None,
    ) -> placement.Traits:
        """Make these all the traits of a node; custom ones are created."""
        wanted = frozenset(names)

        def put(generation: int | None) -> placement.Traits:
            if generation is None:
                seen = self.traits(uuid)
                if seen is None:
                    raise _no_provider(uuid)
                if seen.names == wanted:
                    return seen
                generation = seen.generation
            self._create('/traits', wanted, confirm)
            _confirmed(confirm)
            body = {
                'resource_provider_generation': generation,
                'traits': sorted(wanted),
            }
            return _traits(self._put(uuid, 'traits', body))

        return _while_others_write(put, generation)

    def _create(
        self,
        kind: str,
        names: Iterable[str],
        confirm: placement.Confirm | None,
    ) -> None:
        """Create custom names that this client has not created before."""
        for name in sorted(names):
            path = f'{kind}/{name}'
            if name.startswith('CUSTOM_') and path not in self._created:
                _confirmed(confirm)
                self._api.send('PUT', path)
                self._created.add(path)

    def _put(
        self, uuid: str, what: str, body: dict[str, Any]
    ) -> dict[str, Any]:
        try:
            return self._api.send(
                'PUT', f'{_path(uuid)}/{what}', about=uuid, body=body
            )
        except api.NoProviderFault as exc:
            raise _no_provider(uuid) from exc
        except api.ConcurrentUpdateFault:
            raise
        except exceptions.PlacementError:
            # Perhaps somebody has deleted a name that was created here.
            self._created.clear()
            raise

    def _get(self, uuid: str, what: str) -> dict[str, Any] | None:
        try:
            return self._api.send('GET', f'{_path(uuid)}{what}', about=uuid)
        except api.NoProviderFault:
            return None


def _path(uuid: str) -> str:
    return f'/resource_providers/{uuid}'


def _while_others_write(
    put: Callable[[int | None], T], generation: int | None
) -> T:
    """Try a write again while the generation changes under it.

    :raises ProviderBusyError: if that does not end.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return put(generation)
        except api.ConcurrentUpdateFault:
            generation = None
    try:
        return put(generation)
    except api.ConcurrentUpdateFault as exc:
        raise exceptions.ProviderBusyError(
            f'Others changed the provider in each of {ATTEMPTS} attempts to '
            f'write: {exc}'
        ) from exc


def _confirmed(confirm: placement.Confirm | None) -> None:
    if confirm is not None:
        confirm()


def _inventory(data: Mapping[str, Any]) -> placement.Inventory:
    known = {field.name for field in dataclasses.fields(placement.Resource)}
    try:
        return placement.Inventory(
            int(data['resource_provider_generation']),
            {
                str(name): placement.Resource(
                    **{k: v for k, v in values.items() if k in known}
                )
                for name, values in data['inventories'].items()
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise _odd('an inventory') from exc


def _traits(data: Mapping[str, Any]) -> placement.Traits:
    try:
        return placement.Traits(
            int(data['resource_provider_generation']),
            frozenset(map(str, data['traits'])),
        )
    except (KeyError, TypeError, ValueError) as exc:
        raise _odd('traits') from exc


def _odd(what: str) -> exceptions.PlacementError:
    return exceptions.PlacementError(
        f'Placement answered with something else than {what}',
        hint=api.ENDPOINT_HINT,
    )


def _no_provider(uuid: str) -> exceptions.NoProviderError:
    return exceptions.NoProviderError(
        f'Node {uuid} has no provider in Placement'
    )
