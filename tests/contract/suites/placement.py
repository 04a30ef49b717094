"""A Placement in memory, and the laws that every Placement has to keep.

The fake is for tests of what uses Placement. It must not know more than the
contract: all that it can do, the real client is proven to do by the same
suite, :class:`PlacementContract`, run against a real Placement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.placement import (
    DISABLED,
    FIRST_GENERATION,
    KEPT,
    OWNER_NOVA,
    Inventory,
    Resource,
    Traits,
)
from ironic_ownership.engine.ports import Placement

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


class FakePlacement:
    """Providers in a dictionary that tests change as they like.

    :ivar providers: by uuid.
    :ivar fail_with: raised by every call while it is set.
    :ivar failures: raised by one method only, by the method's name.
    :ivar calls: (method, uuid) of each call, failed ones included.
    :ivar writes: (method, uuid) of each call that changed something.
    """

    def __init__(self, uuids: Iterable[str] = ()) -> None:
        self.confirm = lambda: None
        self.providers = {
            uuid: FakeProvider(uuid, resources=dict(ONE)) for uuid in uuids
        }
        self.fail_with: Exception | None = None
        self.failures: dict[str, Exception] = {}
        self.calls: list[tuple[str, str]] = []
        self.writes: list[tuple[str, str]] = []

    def has_provider(self, uuid: str) -> bool:
        return self._called('has_provider', uuid) is not None

    def consumers(self, uuid: str) -> frozenset[str] | None:
        found = self._called('consumers', uuid)
        return None if found is None else frozenset(found.consumers)

    def put_provider(self, uuid: str, name: str) -> bool:
        if self._called('put_provider', uuid) is not None:
            return False
        if any(found.name == name for found in self.providers.values()):
            raise exceptions.PlacementRefusedError(f'{name} is taken')
        self._writes('put_provider', uuid)
        self.providers[uuid] = FakeProvider(name)
        return True

    def delete_provider(self, uuid: str) -> bool:
        found = self._called('delete_provider', uuid)
        if found is not None and found.consumers:
            raise exceptions.ProviderInUseError(f'{uuid} has allocations')
        return self.providers.pop(uuid, None) is not None

    def inventory(self, uuid: str) -> Inventory | None:
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
        found = self._existing('put_inventory', uuid)
        if found.consumers and found.resources.keys() - resources.keys():
            raise exceptions.ProviderInUseError(f'{uuid} has allocations')
        if found.resources != dict(resources):
            self._writes('put_inventory', uuid)
            found.resources = dict(resources)
            found.generation += 1
        return Inventory(found.generation, dict(resources))

    def traits(self, uuid: str) -> Traits | None:
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
        found = self._existing('put_traits', uuid)
        kept = {name for name in found.traits if name.startswith(KEPT)}
        wanted = frozenset(names) | kept
        if found.traits != wanted:
            self._writes('put_traits', uuid)
            found.traits = wanted
            found.generation += 1
        return Traits(found.generation, found.traits)

    def disabled(self) -> frozenset[str]:
        self._called('disabled', '')
        return frozenset(
            uuid
            for uuid, found in self.providers.items()
            if DISABLED in found.traits
        )

    def hidden_from_nova(self) -> frozenset[str]:
        self._called('hidden_from_nova', '')
        found = {
            uuid
            for uuid, one in self.providers.items()
            if OWNER_NOVA not in one.traits
        }
        used = len(found) < len(self.providers)
        return frozenset(found if used else ())

    def put_disabled(self, uuid: str, disabled: bool) -> bool:
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


class PlacementContract:
    """Laws of every Placement; mixed into a test case that makes one.

    Each test begins without providers. The test case can ``provide`` one with
    :data:`ONE`, ``allocate`` its unit to a consumer and ``free`` it, and
    ``make_unavailable`` Placement for the rest of the test.
    """

    placement: Placement

    def resources(self, uuid: str) -> Mapping[str, Resource]:
        """Return the inventory of a provider that there is."""
        found = self.placement.inventory(uuid)
        assert found is not None
        return found.resources

    def names(self, uuid: str) -> frozenset[str]:
        """Return the traits of a provider that there is."""
        found = self.placement.traits(uuid)
        assert found is not None
        return found.names

    def test_missing_provider_is_an_answer_and_no_error(self) -> None:
        self.provide()
        self.assertIs(False, self.placement.has_provider(MISSING))
        self.assertIsNone(self.placement.consumers(MISSING))
        self.assertIsNone(self.placement.inventory(MISSING))
        self.assertIsNone(self.placement.traits(MISSING))
        self.assertIs(False, self.placement.delete_provider(MISSING))

    def test_provider_is_deleted_once_when_it_is_not_used(self) -> None:
        uuid, other = self.provide(), self.provide()
        self.assertEqual(frozenset(), self.placement.consumers(uuid))
        consumer = self.allocate(uuid)
        self.assertEqual(frozenset({consumer}), self.placement.consumers(uuid))
        for change in (
            lambda: self.placement.delete_provider(uuid),
            lambda: self.placement.put_inventory(uuid, {}),
        ):
            self.assertRaises(exceptions.ProviderInUseError, change)
        self.assertTrue(self.placement.has_provider(uuid))
        self.assertIn(BARE_METAL, self.resources(uuid))
        self.free(uuid, consumer)
        self.assertIs(True, self.placement.delete_provider(uuid))
        self.assertIs(False, self.placement.delete_provider(uuid))
        self.assertIs(False, self.placement.has_provider(uuid))
        self.assertIs(True, self.placement.has_provider(other))

    def test_inventory_is_replaced(self) -> None:
        uuid = self.provide()
        before = self.placement.inventory(uuid)
        assert before is not None
        written = self.placement.put_inventory(uuid, RESERVED)
        self.assertEqual(RESERVED, written.resources)
        self.assertEqual(written, self.placement.inventory(uuid))
        self.assertGreater(written.generation, before.generation)
        self.assertEqual(written, self.placement.put_inventory(uuid, RESERVED))
        # A generation that is not right any more does no harm.
        for generation in (99, FIRST_GENERATION):
            for resources in (ONE, RESERVED):
                found = self.placement.put_inventory(
                    uuid, resources, generation=generation
                )
                self.assertEqual(resources, found.resources)
        self.assertEqual({}, self.placement.put_inventory(uuid, {}).resources)

    def test_traits_are_replaced_and_custom_ones_created(self) -> None:
        uuid = self.provide()
        nova = {'OWNER_NOVA', 'COMPUTE_NODE'}
        for names, expected, generation in (
            ({'CUSTOM_OF_A_TEST', 'HW_CPU_X86_VMX'}, None, None),
            ({'CUSTOM_OTHER'}, None, 99),
            (set(), None, FIRST_GENERATION),
            (nova | {'CUSTOM_A'}, None, None),
            # Those that are not of the node stay.
            ({'CUSTOM_B'}, nova | {'CUSTOM_B'}, None),
        ):
            written = self.placement.put_traits(
                uuid, names, generation=generation
            )
            self.assertEqual(expected or names, written.names)
            self.assertEqual(written, self.placement.traits(uuid))
            again = self.placement.put_traits(uuid, names)
            self.assertEqual(written, again)

    def test_providers_that_nova_does_not_choose(self) -> None:
        uuid, other = self.provide(), self.provide()
        for owned, hidden in (([], []), ([uuid], [other]), ([other], [])):
            for one in owned:
                self.placement.put_traits(one, ['OWNER_NOVA'])
            self.assertEqual({*hidden}, self.placement.hidden_from_nova())

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
        self.assertEqual(names, self.names(uuid))

    def test_writing_to_a_missing_provider_is_an_error(self) -> None:
        known, old = {'generation': None}, {'generation': FIRST_GENERATION}
        for write, argument, options in (
            (self.placement.put_inventory, ONE, known),
            (self.placement.put_inventory, ONE, old),
            (self.placement.put_traits, (), known),
            (self.placement.put_traits, (), old),
            (self.placement.put_disabled, True, {}),
        ):
            with self.assertRaises(exceptions.NoProviderError):
                write(MISSING, argument, **options)

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
        self.assertEqual(ONE, self.resources(NEW))
        # Its name is not that of another one.
        with self.assertRaises(exceptions.PlacementRefusedError):
            self.placement.put_provider(MISSING, NEW)
        self.assertIs(False, self.placement.has_provider(MISSING))

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
        self.assertEqual(ONE, self.resources(uuid))

    def test_outage_is_an_error_and_never_an_answer(self) -> None:
        uuid = self.provide()
        self.make_unavailable()
        for ask, *values in (
            (self.placement.has_provider, uuid),
            (self.placement.consumers, MISSING),
            (self.placement.put_provider, NEW, NEW),
            (self.placement.delete_provider, MISSING),
            (self.placement.inventory, uuid),
            (self.placement.put_inventory, uuid, RESERVED),
            (self.placement.traits, uuid),
            (self.placement.put_traits, uuid, ()),
            (self.placement.disabled,),
            (self.placement.hidden_from_nova,),
            (self.placement.put_disabled, uuid, True),
        ):
            unavailable = exceptions.PlacementUnavailableError
            self.assertRaises(unavailable, ask, *values)
