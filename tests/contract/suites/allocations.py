"""The laws that everything that reserves nodes in Ironic has to keep."""

from __future__ import annotations

import concurrent.futures
import uuid as uuid_
from collections.abc import Sequence

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.reservations import (
    Allocation,
    AllocationState,
)
from ironic_ownership.engine.ports import Allocations

ACTIVE, ERROR = AllocationState.ACTIVE, AllocationState.ERROR
GOLD = 'gold'
TRAIT = 'CUSTOM_OF_A_TEST'
MISSING = '00000000-0000-4000-8000-00000000dead'
TRIES = 50


def instance() -> str:
    """Return the uuid of a new instance."""
    return str(uuid_.uuid4())


class AllocationsContract:
    """Laws of every implementation of allocations, for a test case.

    Each test begins with an Ironic that has no nodes. The test case makes the
    ``client``, and :meth:`another` of the same Ironic. It can ``enrol`` free
    nodes, ``remove``, ``deploy`` and ``set_maintenance`` of one, read
    ``instance_of`` one, ``reserve_as_another_client``, without this project,
    and ``make_unavailable`` the Ironic for the rest of the test.
    """

    client: Allocations

    def _create(
        self,
        instance_uuid: str,
        candidates: Sequence[str],
        *,
        owner: str = 'one',
        traits: Sequence[str] = (),
        client: Allocations | None = None,
    ) -> Allocation:
        """Create as a service does: what may pass is asked for again."""
        client = client or self.client
        for _ in range(TRIES):
            try:
                made = client.create(
                    instance_uuid,
                    resource_class=GOLD,
                    candidates=candidates,
                    owner=owner,
                    traits=traits,
                )
                if made.state is not AllocationState.ALLOCATING:
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
        self.assertEqual(
            (ACTIVE, one, 'one'), (made.state, made.instance_uuid, made.owner)
        )
        self.assertIn(made.node_uuid, uuids[1:3])
        self.assertEqual(made, self.client.get(one))
        # The same call again returns the same, at any client.
        self.assertEqual(made, self._create(one, uuids))
        self.assertEqual(made, self._create(one, uuids, client=self.another()))
        self.assertEqual(
            {
                made.node_uuid: one,
                **dict.fromkeys({*uuids} - {made.node_uuid}),
            },
            {uuid: self.instance_of(uuid) for uuid in uuids},
        )

    def test_what_is_deleted_frees_its_node(self) -> None:
        [uuid] = self.enrol()
        one = instance()
        self.assertIsNone(self.client.get(one))
        self.assertIs(False, self.client.delete(one))
        self._create(one, [uuid])
        self.assertIs(True, self.client.delete(one))
        self.assertTrue(self._all_free([uuid]))
        self.assertIsNone(self.client.get(one))
        self.assertIs(False, self.client.delete(one))
        self.assertIs(ACTIVE, self._create(instance(), [uuid]).state)

    def test_second_instance_for_a_node_is_an_error_and_leaves_nothing(
        self,
    ) -> None:
        uuids = self.enrol(2)
        first, second = instance(), instance()
        self._create(first, uuids[:1])
        made = self._create(second, uuids[:1], owner='two')
        self.assertEqual((ERROR, None), (made.state, made.node_uuid))
        self.assertTrue(made.last_error)
        self.assertEqual(first, self.instance_of(uuids[0]))
        self.assertIsNone(self.client.get(second))
        self.assertEqual([], self.client.mine('two'))
        # It can be made again.
        self.assertEqual(uuids[1], self._create(second, uuids[1:]).node_uuid)

    def _at_once(
        self, instances: Sequence[str], candidates: Sequence[str]
    ) -> list[Allocation]:
        clients = [self.another() for _ in instances]
        with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
            return list(
                pool.map(
                    lambda one, client: self._create(
                        one, candidates, client=client
                    ),
                    instances,
                    clients,
                )
            )

    def test_two_instances_at_once_never_get_one_node(self) -> None:
        [uuid] = self.enrol()
        made = self._at_once([instance(), instance()], [uuid])
        self.assertEqual({ACTIVE, ERROR}, {one.state for one in made})
        [winner] = [one for one in made if one.state is ACTIVE]
        self.assertEqual(winner.instance_uuid, self.instance_of(uuid))

    def test_as_many_at_once_as_there_are_nodes_each_get_one(self) -> None:
        uuids = self.enrol(3)
        made = self._at_once([instance() for _ in uuids], uuids)
        self.assertEqual(set(uuids), {one.node_uuid for one in made})

    def test_one_instance_at_once_gets_one_node(self) -> None:
        uuids = self.enrol(2)
        one = instance()
        made = self._at_once([one, one], uuids)
        self.assertEqual(1, len({m.node_uuid for m in made}))
        self.assertEqual(
            1, sum(self.instance_of(uuid) == one for uuid in uuids)
        )

    def test_node_that_does_not_fit_is_passed_over(self) -> None:
        silver = self.enrol(resource_class='silver', traits=(TRAIT,))
        [without] = self.enrol()
        gone, maintained, fits = self.enrol(3, traits=(TRAIT,))
        self.remove(gone)
        self.set_maintenance(maintained)
        others = [*silver, without, gone, maintained]
        for candidates, expected in (
            ([MISSING], None),
            (others, None),
            ([*others, fits], fits),
        ):
            made = self._create(instance(), candidates, traits=(TRAIT,))
            self.assertIs(ACTIVE if expected else ERROR, made.state)
            self.assertEqual(expected, made.node_uuid)
        self.assertTrue(self._all_free([*silver, without, maintained]))

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

    def test_each_service_has_and_lists_its_own(self) -> None:
        uuids = self.enrol(4)
        ones = [self._create(instance(), [uuid]) for uuid in uuids[:2]]
        two = self._create(instance(), uuids[2:3], owner='two')
        self.reserve_as_another_client(uuids[3], instance())
        for owner, made in (('one', ones), ('two', [two]), ('three', [])):
            self.assertCountEqual(
                [(m.instance_uuid, m.node_uuid, m.state) for m in made],
                [
                    (m.instance_uuid, m.node_uuid, m.state)
                    for m in self.client.mine(owner)
                    if m.owner == owner
                ],
            )
        with self.assertRaises(exceptions.AllocationConflictError):
            self._create(two.instance_uuid, uuids[:1])
        self.assertEqual(two, self.client.get(two.instance_uuid))

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
