"""The laws that everything that reserves nodes in Ironic has to keep."""

from __future__ import annotations

import concurrent.futures
import unittest
import uuid as uuid_
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ironic_ownership.contracts import exceptions, reservations

if TYPE_CHECKING:
    _Case = unittest.TestCase
else:
    _Case = object

ACTIVE = reservations.AllocationState.ACTIVE
ERROR = reservations.AllocationState.ERROR
GOLD = 'gold'
TRAIT = 'CUSTOM_OF_A_TEST'
MISSING = '00000000-0000-4000-8000-00000000dead'
TRIES = 50


def instance() -> str:
    """Return the uuid of a new instance."""
    return str(uuid_.uuid4())


class AllocationsContract(_Case):
    """Laws of every implementation of allocations.

    Each test begins with an Ironic that has no nodes.
    """

    client: reservations.Allocations

    def another(self) -> reservations.Allocations:
        """Return another client of the same Ironic."""
        raise NotImplementedError

    def enrol(
        self,
        count: int = 1,
        *,
        resource_class: str = GOLD,
        traits: Sequence[str] = (),
    ) -> list[str]:
        """Give Ironic more nodes that are free and return their uuids."""
        raise NotImplementedError

    def remove(self, uuid: str) -> None:
        """Take a node from Ironic."""
        raise NotImplementedError

    def instance_of(self, uuid: str) -> str | None:
        """Return the instance that Ironic has on a node."""
        raise NotImplementedError

    def reserve_as_another_client(self, uuid: str, instance_uuid: str) -> None:
        """Reserve a node for an instance without this project."""
        raise NotImplementedError

    def set_maintenance(self, uuid: str) -> None:
        """Put a node into maintenance."""
        raise NotImplementedError

    def deploy(self, uuid: str) -> None:
        """Let a node be deployed."""
        raise NotImplementedError

    def make_unavailable(self) -> None:
        """Let Ironic fail for the rest of the test."""
        raise NotImplementedError

    def _create(
        self,
        instance_uuid: str,
        candidates: Sequence[str],
        *,
        owner: str = 'one',
        resource_class: str = GOLD,
        traits: Sequence[str] = (),
        client: reservations.Allocations | None = None,
    ) -> reservations.Allocation:
        """Create as a service does: what may pass is asked for again."""
        client = client or self.client
        for _ in range(TRIES):
            try:
                made = client.create(
                    instance_uuid,
                    resource_class=resource_class,
                    candidates=candidates,
                    owner=owner,
                    traits=traits,
                )
                if made.state is not reservations.AllocationState.ALLOCATING:
                    return made
                # An Ironic on SQLite may drop one that it began, if another
                # thread of it writes, and leaves it in this state for ever.
                client.delete(instance_uuid)
            except exceptions.IronicUnavailableError:
                continue
        raise AssertionError('Ironic did not settle it')

    def _all_free(self, uuids: Sequence[str]) -> bool:
        return all(self.instance_of(uuid) is None for uuid in uuids)

    def test_one_of_the_candidates_becomes_the_instances(self) -> None:
        uuids = self.enrol(4)
        one = instance()
        made = self._create(one, uuids[1:3])
        self.assertIs(ACTIVE, made.state)
        self.assertEqual(one, made.instance_uuid)
        self.assertEqual('one', made.owner)
        self.assertIn(made.node_uuid, uuids[1:3])
        self.assertEqual(made, self.client.get(one))
        self.assertEqual(
            [made.node_uuid],
            [uuid for uuid in uuids if self.instance_of(uuid) == one],
        )

    def test_same_call_again_returns_the_same(self) -> None:
        uuids = self.enrol(3)
        one = instance()
        made = self._create(one, uuids)
        self.assertEqual(made, self._create(one, uuids))
        self.assertEqual(made, self._create(one, uuids, client=self.another()))
        self.assertEqual(
            2, sum(self.instance_of(uuid) is None for uuid in uuids)
        )

    def test_nothing_is_there_before_and_after(self) -> None:
        one = instance()
        self.assertIsNone(self.client.get(one))
        self.assertIs(False, self.client.delete(one))

    def test_what_is_deleted_frees_its_node(self) -> None:
        [uuid] = self.enrol()
        one, other = instance(), instance()
        self._create(one, [uuid])
        self.assertIs(True, self.client.delete(one))
        self.assertTrue(self._all_free([uuid]))
        self.assertIsNone(self.client.get(one))
        self.assertIs(False, self.client.delete(one))
        self.assertIs(ACTIVE, self._create(other, [uuid]).state)

    def test_second_instance_for_a_node_is_an_error_and_leaves_nothing(
        self,
    ) -> None:
        [uuid] = self.enrol()
        first, second = instance(), instance()
        self._create(first, [uuid])
        made = self._create(second, [uuid], owner='two')
        self.assertIs(ERROR, made.state)
        self.assertIsNone(made.node_uuid)
        self.assertTrue(made.last_error)
        self.assertEqual(first, self.instance_of(uuid))
        self.assertIsNone(self.client.get(second))
        self.assertEqual([], self.client.mine('two'))

    def test_after_an_error_it_is_made_again(self) -> None:
        uuids = self.enrol(2)
        first, second = instance(), instance()
        self._create(first, uuids[:1])
        self.assertIs(ERROR, self._create(second, uuids[:1]).state)
        self.assertEqual(uuids[1], self._create(second, uuids[1:]).node_uuid)

    def test_two_instances_at_once_never_get_one_node(self) -> None:
        [uuid] = self.enrol()
        made = self._at_once([[uuid]] * 2)
        self.assertEqual({ACTIVE, ERROR}, {one.state for one in made})
        [winner] = [one for one in made if one.state is ACTIVE]
        self.assertEqual(winner.instance_uuid, self.instance_of(uuid))

    def test_as_many_at_once_as_there_are_nodes_each_get_one(self) -> None:
        uuids = self.enrol(3)
        made = self._at_once([uuids] * 3)
        self.assertEqual(set(uuids), {one.node_uuid for one in made})

    def _at_once(
        self, candidates: Sequence[Sequence[str]]
    ) -> list[reservations.Allocation]:
        clients = [self.another() for _ in candidates]
        with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
            return list(
                pool.map(
                    lambda client, some: self._create(
                        instance(), some, client=client
                    ),
                    clients,
                    candidates,
                )
            )

    def test_one_instance_at_once_gets_one_node(self) -> None:
        uuids = self.enrol(2)
        one = instance()
        clients = [self.another(), self.another()]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            made = list(
                pool.map(
                    lambda client: self._create(one, uuids, client=client),
                    clients,
                )
            )
        self.assertEqual(1, len({m.node_uuid for m in made}))
        self.assertEqual(
            1, sum(self.instance_of(uuid) == one for uuid in uuids)
        )

    def test_wrong_resource_class_is_an_error(self) -> None:
        uuids = self.enrol(2, resource_class='silver')
        made = self._create(instance(), uuids)
        self.assertIs(ERROR, made.state)
        self.assertTrue(self._all_free(uuids))

    def test_node_without_a_trait_is_passed_over(self) -> None:
        without = self.enrol(2)
        [with_trait] = self.enrol(traits=(TRAIT,))
        made = self._create(
            instance(), [*without, with_trait], traits=(TRAIT,)
        )
        self.assertEqual(with_trait, made.node_uuid)
        self.assertIs(
            ERROR, self._create(instance(), without, traits=(TRAIT,)).state
        )

    def test_node_in_maintenance_is_passed_over(self) -> None:
        uuids = self.enrol(2)
        self.set_maintenance(uuids[0])
        self.assertEqual(uuids[1], self._create(instance(), uuids).node_uuid)

    def test_node_that_is_gone_is_passed_over(self) -> None:
        uuids = self.enrol(2)
        self.remove(uuids[0])
        self.assertEqual(uuids[1], self._create(instance(), uuids).node_uuid)
        self.assertIs(ERROR, self._create(instance(), [MISSING]).state)

    def test_allocation_of_another_client_is_left_alone(self) -> None:
        uuids = self.enrol(2)
        theirs = instance()
        self.reserve_as_another_client(uuids[0], theirs)
        found = self.client.get(theirs)
        assert found is not None
        self.assertEqual(
            (uuids[0], None, ACTIVE),
            (found.node_uuid, found.owner, found.state),
        )
        with self.assertRaises(exceptions.AllocationConflictError):
            self._create(theirs, uuids[1:])
        with self.assertRaises(exceptions.AllocationConflictError):
            self.client.delete(theirs)
        self.assertEqual(theirs, self.instance_of(uuids[0]))
        self.assertTrue(self._all_free(uuids[1:]))

    def test_what_another_service_made_is_a_conflict(self) -> None:
        uuids = self.enrol(2)
        one = instance()
        made = self._create(one, uuids[:1], owner='one')
        with self.assertRaises(exceptions.AllocationConflictError):
            self._create(one, uuids[1:], owner='two')
        self.assertEqual(made, self.client.get(one))

    def test_each_service_lists_its_own(self) -> None:
        uuids = self.enrol(4)
        ones = [self._create(instance(), [uuid]) for uuid in uuids[:2]]
        two = self._create(instance(), uuids[2:3], owner='two')
        self.reserve_as_another_client(uuids[3], instance())

        def by_uuid(
            made: Sequence[reservations.Allocation],
        ) -> Sequence[object]:
            return sorted(
                (m.instance_uuid, m.node_uuid, m.owner, m.state) for m in made
            )

        self.assertEqual(by_uuid(ones), by_uuid(self.client.mine('one')))
        self.assertEqual(by_uuid([two]), by_uuid(self.client.mine('two')))
        self.assertEqual([], self.client.mine('three'))

    def test_deployed_node_is_not_given_back(self) -> None:
        [uuid] = self.enrol()
        one = instance()
        made = self._create(one, [uuid])
        self.deploy(uuid)
        with self.assertRaises(exceptions.AllocationInUseError):
            self.client.delete(one)
        self.assertEqual(one, self.instance_of(uuid))
        self.assertEqual(made, self.client.get(one))

    def test_outage_is_an_error_and_never_an_answer(self) -> None:
        [uuid] = self.enrol()
        one = instance()
        self._create(one, [uuid])
        self.make_unavailable()
        for ask in (
            lambda: self.client.get(one),
            lambda: self.client.get(MISSING),
            lambda: self.client.delete(one),
            lambda: self.client.delete(MISSING),
            lambda: self.client.mine('one'),
            lambda: self.client.create(
                instance(),
                resource_class=GOLD,
                candidates=[uuid],
                owner='one',
            ),
        ):
            self.assertRaises(exceptions.IronicUnavailableError, ask)
