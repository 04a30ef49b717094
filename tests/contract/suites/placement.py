"""A Placement in memory, and the laws that every Placement has to keep.

The fake is for tests of what uses Placement. It must not know more than the
contract: all that it can do, the real client is proven to do by the same
suite, :class:`PlacementContract`, run against a real Placement.
"""

from __future__ import annotations

import dataclasses
import functools
import unittest
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.placement import (
    DISABLED,
    FIRST_GENERATION,
    KEPT,
    OWNER_NOVA,
    Inventory,
    Placement,
    Resource,
    Traits,
)

if TYPE_CHECKING:
    _Case = unittest.TestCase
else:
    _Case = object

MISSING = '00000000-0000-4000-8000-00000000dead'
NEW = '00000000-0000-4000-8000-000000000ea7'
BARE_METAL = 'CUSTOM_BAREMETAL'
ONE: Mapping[str, Resource] = {BARE_METAL: Resource(1)}
RESERVED: Mapping[str, Resource] = {BARE_METAL: Resource(1, reserved=1)}


@dataclasses.dataclass
class FakeProvider:
    """One provider: what the fake knows of it."""

    name: str = ''
    generation: int = 0
    resources: dict[str, Resource] = dataclasses.field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    consumers: set[str] = dataclasses.field(default_factory=set)


class FakePlacement(Placement):
    """Providers in a dictionary that tests change as they like.

    :ivar providers: by uuid.
    :ivar fail_with: raised by every call while it is set.
    :ivar failures: raised by one method only, by the method's name.
    :ivar calls: (method, uuid) of each call, failed ones included.
    :ivar writes: (method, uuid) of each call that changed something.
    """

    def __init__(self, uuids: Iterable[str] = ()) -> None:
        super().__init__()
        self.providers = {
            uuid: FakeProvider(uuid, resources=dict(ONE)) for uuid in uuids
        }
        self.fail_with: Exception | None = None
        self.failures: dict[str, Exception] = {}
        self.calls: list[tuple[str, str]] = []
        self.writes: list[tuple[str, str]] = []

    def has_provider(self, uuid: str) -> bool:
        """Tell whether the node has a provider."""
        return self._called('has_provider', uuid) is not None

    def consumers(self, uuid: str) -> frozenset[str] | None:
        """Return who holds allocations of the node's provider."""
        found = self._called('consumers', uuid)
        return None if found is None else frozenset(found.consumers)

    def put_provider(
        self,
        uuid: str,
        name: str,
    ) -> bool:
        """Create a provider, unless there is one with that uuid."""
        if self._called('put_provider', uuid) is not None:
            return False
        if any(found.name == name for found in self.providers.values()):
            raise exceptions.PlacementRefusedError(f'{name} is taken')
        self._writes('put_provider', uuid)
        self.providers[uuid] = FakeProvider(name)
        return True

    def delete_provider(self, uuid: str) -> bool:
        """Delete the provider of a node."""
        found = self._called('delete_provider', uuid)
        if found is not None and found.consumers:
            raise exceptions.ProviderInUseError(f'{uuid} has allocations')
        return self.providers.pop(uuid, None) is not None

    def inventory(self, uuid: str) -> Inventory | None:
        """Return the inventory of a node."""
        found = self._called('inventory', uuid)
        if found is None:
            return None
        return Inventory(found.generation, dict(found.resources))

    def put_inventory(
        self,
        uuid: str,
        resources: Mapping[str, Resource],
        *,
        generation: int | None = None,
    ) -> Inventory:
        """Make these the whole inventory of a node."""
        found = self._existing('put_inventory', uuid)
        if found.consumers and found.resources.keys() - resources.keys():
            raise exceptions.ProviderInUseError(f'{uuid} has allocations')
        if found.resources != dict(resources):
            self._writes('put_inventory', uuid)
            found.resources = dict(resources)
            found.generation += 1
        return Inventory(found.generation, dict(resources))

    def traits(self, uuid: str) -> Traits | None:
        """Return the traits of a node."""
        found = self._called('traits', uuid)
        if found is None:
            return None
        return Traits(found.generation, found.traits)

    def put_traits(
        self,
        uuid: str,
        names: Iterable[str],
        *,
        generation: int | None = None,
    ) -> Traits:
        """Make these all the traits of a node."""
        found = self._existing('put_traits', uuid)
        kept = {name for name in found.traits if name.startswith(KEPT)}
        wanted = frozenset(names) | kept
        if found.traits != wanted:
            self._writes('put_traits', uuid)
            found.traits = wanted
            found.generation += 1
        return Traits(found.generation, found.traits)

    def disabled(self) -> frozenset[str]:
        """Return the providers that the scheduler does not choose."""
        self._called('disabled', '')
        return frozenset(
            uuid
            for uuid, found in self.providers.items()
            if DISABLED in found.traits
        )

    def hidden_from_nova(self) -> frozenset[str]:
        """Return the providers that Nova does not choose."""
        self._called('hidden_from_nova', '')
        found = {
            uuid
            for uuid, one in self.providers.items()
            if OWNER_NOVA not in one.traits
        }
        used = len(found) < len(self.providers)
        return frozenset(found if used else ())

    def put_disabled(self, uuid: str, disabled: bool) -> bool:
        """Add or remove the status."""
        found = self._existing('put_disabled', uuid)
        if (DISABLED in found.traits) is disabled:
            return False
        self._writes('put_disabled', uuid)
        found.traits ^= {DISABLED}
        found.generation += 1
        return True

    def _existing(self, method: str, uuid: str) -> FakeProvider:
        found = self._called(method, uuid)
        if found is None:
            raise exceptions.NoProviderError(f'{uuid} has no provider')
        return found

    def _writes(self, method: str, uuid: str) -> None:
        self.confirm()
        self.writes.append((method, uuid))

    def _called(self, method: str, uuid: str) -> FakeProvider | None:
        self.calls.append((method, uuid))
        failure = self.failures.get(method, self.fail_with)
        if failure is not None:
            raise failure
        return self.providers.get(uuid)


class PlacementContract(_Case):
    """Laws of every Placement; mixed into a test case that makes one.

    Each test begins without providers.
    """

    placement: Placement

    def provide(self) -> str:
        """Add a provider with :data:`ONE` and return its uuid."""
        raise NotImplementedError

    def allocate(self, uuid: str) -> str:
        """Allocate the one unit of a provider; return the consumer."""
        raise NotImplementedError

    def free(self, uuid: str, consumer: str) -> None:
        """Delete an allocation."""
        raise NotImplementedError

    def make_unavailable(self) -> None:
        """Let Placement fail for the rest of the test."""
        raise NotImplementedError

    def test_missing_provider_is_an_answer_and_no_error(self) -> None:
        self.provide()
        self.assertIs(False, self.placement.has_provider(MISSING))
        self.assertIsNone(self.placement.consumers(MISSING))
        self.assertIsNone(self.placement.inventory(MISSING))
        self.assertIsNone(self.placement.traits(MISSING))
        self.assertIs(False, self.placement.delete_provider(MISSING))

    def test_unused_provider_is_deleted_once(self) -> None:
        uuid, other = self.provide(), self.provide()
        self.assertEqual(frozenset(), self.placement.consumers(uuid))
        self.assertIs(True, self.placement.delete_provider(uuid))
        self.assertIs(False, self.placement.delete_provider(uuid))
        self.assertIs(False, self.placement.has_provider(uuid))
        self.assertIs(True, self.placement.has_provider(other))

    def test_provider_in_use_stays(self) -> None:
        uuid = self.provide()
        consumer = self.allocate(uuid)
        self.assertEqual(frozenset({consumer}), self.placement.consumers(uuid))
        with self.assertRaises(exceptions.ProviderInUseError):
            self.placement.delete_provider(uuid)
        self.assertTrue(self.placement.has_provider(uuid))
        self.free(uuid, consumer)
        self.assertIs(True, self.placement.delete_provider(uuid))

    def test_inventory_is_replaced(self) -> None:
        uuid = self.provide()
        before = self.placement.inventory(uuid)
        assert before is not None
        written = self.placement.put_inventory(uuid, RESERVED)
        self.assertEqual(RESERVED, written.resources)
        self.assertEqual(written, self.placement.inventory(uuid))
        self.assertGreater(written.generation, before.generation)
        self.assertEqual({}, self.placement.put_inventory(uuid, {}).resources)

    def test_same_inventory_again_changes_nothing(self) -> None:
        uuid = self.provide()
        first = self.placement.put_inventory(uuid, RESERVED)
        self.assertEqual(first, self.placement.put_inventory(uuid, RESERVED))

    def test_allocated_inventory_stays(self) -> None:
        uuid = self.provide()
        self.allocate(uuid)
        with self.assertRaises(exceptions.ProviderInUseError):
            self.placement.put_inventory(uuid, {})
        found = self.placement.inventory(uuid)
        assert found is not None
        self.assertIn(BARE_METAL, found.resources)

    def test_traits_are_replaced_and_custom_ones_created(self) -> None:
        uuid = self.provide()
        for names in (
            {'CUSTOM_OF_A_TEST', 'HW_CPU_X86_VMX'},
            {'CUSTOM_OTHER'},
            set(),
        ):
            written = self.placement.put_traits(uuid, names)
            self.assertEqual(frozenset(names), written.names)
            self.assertEqual(written, self.placement.traits(uuid))
            again = self.placement.put_traits(uuid, names)
            self.assertEqual(written, again)

    def test_traits_that_are_not_of_the_node_stay(self) -> None:
        uuid = self.provide()
        nova = {'OWNER_NOVA', 'COMPUTE_NODE'}
        self.placement.put_traits(uuid, nova | {'CUSTOM_A'})
        written = self.placement.put_traits(uuid, ['CUSTOM_B'])
        self.assertEqual(nova | {'CUSTOM_B'}, written.names)
        self.assertEqual(written, self.placement.traits(uuid))
        again = self.placement.put_traits(uuid, ['CUSTOM_B'])
        self.assertEqual(written, again)

    def test_providers_that_nova_does_not_choose(self) -> None:
        uuid, other = self.provide(), self.provide()
        self.assertEqual(frozenset(), self.placement.hidden_from_nova())
        self.placement.put_traits(uuid, ['OWNER_NOVA'])
        self.assertEqual({other}, self.placement.hidden_from_nova())
        self.placement.put_traits(other, ['OWNER_NOVA'])
        self.assertEqual(frozenset(), self.placement.hidden_from_nova())

    def test_status_is_no_trait_of_the_node(self) -> None:
        uuid, other = self.provide(), self.provide()
        names = frozenset({'CUSTOM_OF_A_TEST'})
        self.placement.put_traits(uuid, names)
        self.assertEqual(frozenset(), self.placement.disabled())
        self.assertIs(True, self.placement.put_disabled(uuid, True))
        self.assertIs(False, self.placement.put_disabled(uuid, True))
        self.assertIs(False, self.placement.put_disabled(other, False))
        self.assertEqual({uuid}, self.placement.disabled())
        self.placement.put_traits(uuid, {'CUSTOM_OTHER'})
        self.assertEqual({uuid}, self.placement.disabled())
        self.placement.put_traits(uuid, names)
        self.assertIs(True, self.placement.put_disabled(uuid, False))
        self.assertEqual(frozenset(), self.placement.disabled())
        self.assertEqual(
            names, getattr(self.placement.traits(uuid), 'names', None)
        )

    def test_writing_to_a_missing_provider_is_an_error(self) -> None:
        refuses = functools.partial(
            self.assertRaises, exceptions.NoProviderError
        )
        for known in (None, FIRST_GENERATION):
            put = self.placement.put_inventory
            refuses(put, MISSING, ONE, generation=known)
            refuses(self.placement.put_traits, MISSING, (), generation=known)
        refuses(self.placement.put_disabled, MISSING, True)

    def test_provider_is_created_once_and_then_stays(self) -> None:
        self.assertIs(True, self.placement.put_provider(NEW, NEW))
        self.assertIs(False, self.placement.put_provider(NEW, NEW))
        written = self.placement.put_inventory(
            NEW, ONE, generation=FIRST_GENERATION
        )
        traits = self.placement.put_traits(
            NEW, {'CUSTOM_OF_A_TEST'}, generation=written.generation
        )
        self.assertIs(False, self.placement.put_provider(NEW, 'other name'))
        self.assertEqual(traits, self.placement.traits(NEW))
        self.assertEqual(
            ONE, getattr(self.placement.inventory(NEW), 'resources', None)
        )

    def test_name_of_another_provider_is_an_error(self) -> None:
        self.placement.put_provider(NEW, 'one name')
        with self.assertRaises(exceptions.PlacementRefusedError):
            self.placement.put_provider(MISSING, 'one name')
        self.assertIs(False, self.placement.has_provider(MISSING))

    def test_generation_that_is_not_right_any_more_does_no_harm(self) -> None:
        uuid = self.provide()
        for generation in (99, FIRST_GENERATION):
            written = self.placement.put_inventory(
                uuid, RESERVED, generation=generation
            )
            self.assertEqual(RESERVED, written.resources)
            self.placement.put_traits(
                uuid, {'CUSTOM_OF_A_TEST'}, generation=generation
            )
        self.assertEqual(
            frozenset({'CUSTOM_OF_A_TEST'}),
            getattr(self.placement.traits(uuid), 'names', None),
        )

    def test_nothing_is_written_once_the_right_is_lost(self) -> None:
        uuid = self.provide()

        def lost() -> None:
            raise exceptions.FencedError('no more')

        self.placement.confirm = lost
        for write, *values in (
            (self.placement.put_provider, NEW, NEW),
            (self.placement.put_inventory, uuid, RESERVED),
            (self.placement.put_traits, uuid, {'CUSTOM_NEW_OF_A_TEST'}),
            (self.placement.put_disabled, uuid, True),
        ):
            self.assertRaises(exceptions.FencedError, write, *values)
        self.assertIs(False, self.placement.has_provider(NEW))
        found = self.placement.inventory(uuid)
        assert found is not None
        self.assertEqual(ONE, found.resources)

    def test_outage_is_an_error_and_never_an_answer(self) -> None:
        uuid = self.provide()
        self.make_unavailable()
        for ask in (
            lambda: self.placement.has_provider(uuid),
            lambda: self.placement.consumers(MISSING),
            lambda: self.placement.put_provider(NEW, NEW),
            lambda: self.placement.delete_provider(MISSING),
            lambda: self.placement.inventory(uuid),
            lambda: self.placement.put_inventory(uuid, RESERVED),
            lambda: self.placement.traits(uuid),
            lambda: self.placement.put_traits(uuid, ()),
            self.placement.disabled,
            self.placement.hidden_from_nova,
            lambda: self.placement.put_disabled(uuid, True),
        ):
            self.assertRaises(exceptions.PlacementUnavailableError, ask)
