"""The resource providers of a real Placement: the port, over openstacksdk.

It must never turn a failure into a missing provider or missing allocations:
by those answers a record is deleted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ironic_ownership.clients import placement_api
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
        self._api = placement_api.PlacementAPI(connection, request_id)

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

    def delete_provider(self, uuid: str) -> bool:
        """Delete the provider of a node, with its inventory and traits."""
        try:
            self._api.send('DELETE', _path(uuid), about=uuid)
        except placement_api.NoProviderFault:
            return False
        return True

    def inventory(self, uuid: str) -> placement.Inventory | None:
        """Return the inventory of a node; ``None`` without a provider."""
        data = self._get(uuid, '/inventories')
        return None if data is None else _inventory(data)

    def put_inventory(
        self, uuid: str, resources: Mapping[str, placement.Resource]
    ) -> placement.Inventory:
        """Make these the whole inventory of a node."""
        for name in resources:
            if name.startswith('CUSTOM_'):
                self._api.send('PUT', f'/resource_classes/{name}')
        wanted = {n: dataclasses.asdict(r) for n, r in resources.items()}

        def put() -> placement.Inventory:
            seen = self.inventory(uuid)
            if seen is None:
                raise _no_provider(uuid)
            if dict(seen.resources) == dict(resources):
                return seen
            return _inventory(
                self._api.send(
                    'PUT',
                    f'{_path(uuid)}/inventories',
                    about=uuid,
                    body={
                        'resource_provider_generation': seen.generation,
                        'inventories': wanted,
                    },
                )
            )

        return _while_others_write(put)

    def traits(self, uuid: str) -> placement.Traits | None:
        """Return the traits of a node; ``None`` without a provider."""
        data = self._get(uuid, '/traits')
        return None if data is None else _traits(data)

    def put_traits(self, uuid: str, names: Iterable[str]) -> placement.Traits:
        """Make these all the traits of a node; custom ones are created."""
        wanted = frozenset(names)
        created: set[str] = set()

        def put() -> placement.Traits:
            seen = self.traits(uuid)
            if seen is None:
                raise _no_provider(uuid)
            if seen.names == wanted:
                return seen
            for name in sorted(wanted - seen.names - created):
                if name.startswith('CUSTOM_'):
                    self._api.send('PUT', f'/traits/{name}')
                    created.add(name)
            return _traits(
                self._api.send(
                    'PUT',
                    f'{_path(uuid)}/traits',
                    about=uuid,
                    body={
                        'resource_provider_generation': seen.generation,
                        'traits': sorted(wanted),
                    },
                )
            )

        return _while_others_write(put)

    def _get(self, uuid: str, what: str) -> dict[str, Any] | None:
        try:
            return self._api.send('GET', f'{_path(uuid)}{what}', about=uuid)
        except placement_api.NoProviderFault:
            return None


def _path(uuid: str) -> str:
    return f'/resource_providers/{uuid}'


def _while_others_write(put: Callable[[], T]) -> T:
    """Try a write again while the provider's generation changes under it.

    :raises PlacementUnavailableError: if that does not end.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return put()
        except placement_api.ConcurrentUpdateFault:
            continue
    try:
        return put()
    except placement_api.ConcurrentUpdateFault as exc:
        raise exceptions.PlacementUnavailableError(
            f'Others changed the provider in each of {ATTEMPTS} attempts to '
            f'write: {exc}'
        ) from exc


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
        hint=placement_api.ENDPOINT_HINT,
    )


def _no_provider(uuid: str) -> exceptions.PlacementError:
    return exceptions.PlacementError(
        f'Node {uuid} has no provider in Placement'
    )
