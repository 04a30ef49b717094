"""The providers of Placement, over keystoneauth.

It must never turn a failure into a missing provider or missing allocations:
those lead to the deletion of a record.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ironic_ownership.clients import transport
from ironic_ownership.clients.placement import api
from ironic_ownership.contracts import exceptions, placement

if TYPE_CHECKING:
    from keystoneauth1 import adapter as ksa_adapter

ATTEMPTS = 4
"""Attempts of one write while other clients change the provider."""

_STATUS = frozenset((placement.DISABLED,))

S = TypeVar('S', placement.Inventory, placement.Traits)


class PlacementClient:
    """The resource providers of the nodes, in one Placement.

    Threading: one thread at a time. Blocking: seconds to minutes, so never
    from the heartbeat thread. Failure: :class:`PlacementUnavailableError`
    where a retry may succeed, else :class:`PlacementError`. A provider is
    missing only when Placement answers so, never because of a failure.

    :ivar close: closes its connections; a later request opens others.
    :ivar confirm: called before each request that creates or changes; an
        exception ends the write, so that a service which lost its right while
        it waited writes nothing.
    """

    def __init__(
        self, adapter: ksa_adapter.Adapter, request_id: str | None = None
    ) -> None:
        self.confirm: Callable[[], object] = lambda: None
        self._send = functools.partial(api.send, adapter, request_id)
        self.close = adapter.session.session.close
        self._created: set[str] = set()

    def has_provider(self, uuid: str) -> bool:
        """Tell whether the node has a provider."""
        return self._get(uuid, '') is not None

    def consumers(self, uuid: str) -> frozenset[str] | None:
        """Return the uuids of the consumers; ``None`` without a provider."""
        data = self._get(uuid, '/allocations')
        if data is None:
            return None
        with transport.odd_values(_unexpected, 'allocations'):
            return frozenset(map(str, data['allocations'].keys()))

    def put_provider(self, uuid: str, name: str) -> bool:
        """Create a provider, unless there is one with that uuid.

        An existing one stays as it is, under any name.

        :returns: whether it was created; it is then empty, with
            :data:`FIRST_GENERATION`.
        :raises PlacementRefusedError: if another provider has the name.
        """
        self.confirm()
        try:
            self._send(
                'POST',
                '/resource_providers',
                body={'uuid': uuid, 'name': name},
            )
        except api.DuplicateProviderError as exc:
            # The request arrived twice, or the uuid or the name is taken.
            if not self.has_provider(uuid):
                raise exceptions.PlacementRefusedError(
                    f'Another provider in Placement has the name {name!r}, '
                    f'so {uuid} gets none',
                    hint='See openstack resource provider show; delete it '
                    'if it is not in use',
                ) from exc
            return False
        return True

    def delete_provider(self, uuid: str) -> bool:
        """Delete the provider of a node, with its inventory and traits.

        :returns: ``False`` if there was none.
        :raises ProviderInUseError: if it has allocations; then nothing was
            changed.
        """
        try:
            self._send('DELETE', _path(uuid), about=uuid)
        except api.ProviderNotFoundError:
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
    ) -> placement.Inventory:
        """Make these the whole inventory of a node.

        Retries a few times with the new generation after a conflict with
        another writer. An equal inventory is not written again.

        :param generation: of the provider, if it is known; saves a request.
        :returns: the inventory as it is now.
        :raises ProviderBusyError: if the conflicts do not end.
        :raises ProviderInUseError: if a removed resource is allocated.
        :raises NoProviderError: if the node has no provider.
        """
        inventories = {n: dataclasses.asdict(r) for n, r in resources.items()}

        def put(
            generation: int, seen: placement.Inventory | None
        ) -> placement.Inventory:
            if seen is not None and dict(seen.resources) == dict(resources):
                return seen
            self._create('/resource_classes', resources)
            data = self._put(uuid, generation, 'inventories', inventories)
            return _inventory(data)

        return _replace(self.inventory, put, uuid, generation)[0]

    def traits(self, uuid: str) -> placement.Traits | None:
        """Return the traits of a node; ``None`` without a provider."""
        data = self._get(uuid, '/traits')
        return None if data is None else _traits(data)

    def put_traits(
        self, uuid: str, names: Iterable[str], *, generation: int | None = None
    ) -> placement.Traits:
        """Make these all the traits of a node; custom ones are created.

        Others with a prefix of :data:`KEPT` stay. Retries like
        :meth:`put_inventory`.

        :param generation: of the provider, if it is known; saves a request.
        :raises NoProviderError: if the node has no provider.
        :raises PlacementRefusedError: if a standard trait does not exist.
        """
        wanted = frozenset(names)

        def change(seen: frozenset[str]) -> frozenset[str]:
            return wanted | {n for n in seen if n.startswith(placement.KEPT)}

        return self._change_traits(uuid, change, generation)[0]

    def disabled(self) -> frozenset[str]:
        """Return the uuids of all providers with :data:`DISABLED`."""
        return self._with(placement.DISABLED)

    def hidden_from_nova(self) -> frozenset[str]:
        """Return the uuids of all providers without :data:`OWNER_NOVA`.

        None of them, if no provider has it: Nova does not use it yet.
        """
        try:
            if not self._with(placement.OWNER_NOVA):
                return frozenset()
        except exceptions.PlacementRefusedError:
            return frozenset()  # it is too old to know the trait
        return self._with(f'!{placement.OWNER_NOVA}')

    def _with(self, trait: str) -> frozenset[str]:
        data = self._send('GET', f'/resource_providers?required={trait}')
        with transport.odd_values(_unexpected, 'list of providers'):
            return frozenset(
                str(p['uuid']) for p in data['resource_providers']
            )

    def put_disabled(self, uuid: str, disabled: bool) -> bool:
        """Add :data:`DISABLED` to the traits of a provider, or remove it.

        Retries like :meth:`put_inventory`.

        :returns: whether the provider was changed.
        :raises NoProviderError: if it does not exist.
        """

        def change(seen: frozenset[str]) -> frozenset[str]:
            return seen | _STATUS if disabled else seen - _STATUS

        return self._change_traits(uuid, change, None)[1]

    def _change_traits(
        self,
        uuid: str,
        change: Callable[[frozenset[str]], frozenset[str]],
        generation: int | None,
    ) -> tuple[placement.Traits, bool]:
        """Return the traits, and whether they were written.

        :param change: returns the wanted traits for those that were read.
        :param generation: of a provider that has no traits yet.
        """

        def put(
            generation: int, seen: placement.Traits | None
        ) -> placement.Traits:
            before = seen.names if seen else frozenset()
            wanted = change(before)
            if seen is not None and before == wanted:
                return seen
            self._create('/traits', wanted - before)
            data = self._put(uuid, generation, 'traits', sorted(wanted))
            return _traits(data)

        return _replace(self.traits, put, uuid, generation)

    def _create(self, kind: str, names: Iterable[str]) -> None:
        for name in sorted(names):
            path = f'{kind}/{name}'
            if name.startswith('CUSTOM_') and path not in self._created:
                self.confirm()
                self._send('PUT', path)
                self._created.add(path)

    def _put(
        self, uuid: str, generation: int, what: str, value: object
    ) -> dict[str, Any]:
        self.confirm()
        body = {'resource_provider_generation': generation, what: value}
        try:
            return self._send(
                'PUT', f'{_path(uuid)}/{what}', about=uuid, body=body
            )
        except api.ProviderNotFoundError as exc:
            raise _no_provider(uuid) from exc
        except api.ConcurrentUpdateError:
            raise
        except exceptions.PlacementError:
            # Another client may have deleted a name that was created here.
            self._created.clear()
            raise

    def _get(self, uuid: str, what: str) -> dict[str, Any] | None:
        try:
            return self._send('GET', f'{_path(uuid)}{what}', about=uuid)
        except api.ProviderNotFoundError:
            return None


def _path(uuid: str) -> str:
    return f'/resource_providers/{uuid}'


def _replace(
    read: Callable[[str], S | None],
    put: Callable[[int, S | None], S],
    uuid: str,
    generation: int | None,
) -> tuple[S, bool]:
    """Write with the known generation; retry with one that was read.

    :param put: also receives what was read, if it was, and returns it if
        there is nothing to write.
    :returns: what the provider has, and whether anything was sent: a request
        that was refused may have arrived twice.
    :raises NoProviderError: if the provider does not exist.
    :raises ProviderBusyError: if the generation changes in every attempt.
    """
    for attempt in range(1, ATTEMPTS + 1):
        seen = None
        if generation is None:
            seen = read(uuid)
            if seen is None:
                raise _no_provider(uuid)
            generation = seen.generation
        try:
            found = put(generation, seen)
            return found, attempt > 1 or found is not seen
        except api.ConcurrentUpdateError as exc:
            if attempt == ATTEMPTS:
                raise exceptions.ProviderBusyError(
                    'Other clients changed the provider in each of '
                    f'{ATTEMPTS} attempts to write: {exc}'
                ) from exc
            generation = None
    raise AssertionError


def _inventory(data: Mapping[str, Any]) -> placement.Inventory:
    known = {field.name for field in dataclasses.fields(placement.Resource)}
    with transport.odd_values(_unexpected, 'inventory'):
        return placement.Inventory(
            transport.number(data['resource_provider_generation']),
            {
                str(name): placement.Resource(
                    **{k: v for k, v in values.items() if k in known}
                )
                for name, values in data['inventories'].items()
            },
        )


def _traits(data: Mapping[str, Any]) -> placement.Traits:
    with transport.odd_values(_unexpected, 'traits'):
        return placement.Traits(
            transport.number(data['resource_provider_generation']),
            frozenset(map(str, data['traits'])),
        )


def _unexpected(what: str) -> exceptions.PlacementError:
    return exceptions.PlacementError(
        f'The answer of Placement holds no {what}',
        hint=api.PLACEMENT.endpoint_hint,
    )


def _no_provider(uuid: str) -> exceptions.NoProviderError:
    return exceptions.NoProviderError(
        f'Node {uuid} has no provider in Placement'
    )
