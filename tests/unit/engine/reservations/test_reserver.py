from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import threading
import unittest.mock

from ironic_ownership.contracts import (
    exceptions,
    model,
    refusals,
    reservations,
)
from ironic_ownership.engine.reservations import eligibility
from tests.unit.engine import world
from tests.unit.engine.reservations import reserver_case
from tests.unit.engine.reservations.reserver_case import (
    CLOSED,
    DELETING,
    DOWN,
    ORIGIN,
    PENDING,
    RESERVING,
    instance,
    node,
    request,
)
from tests.unit.engine.service import TTL


class TestCreate(reserver_case.ReservingCase):
    def test_node_is_held_by_ironic_and_by_the_records_alike(self) -> None:
        made = self.create()
        self.assert_reserved(made)
        self.assertEqual('host1', made.host)
        self.assertIsNotNone(made.expires_at)
        self.assertFalse(made.confirmed)
        self.host.refresh()
        self.assert_reserved(made)
        # The same request again gives the same answer.
        self.allocations.calls.clear()
        self.assertEqual(made, self.create())
        self.assertEqual([], self.allocations.calls)
        # A uuid has the forms that a request may have.
        for key in (made.instance_uuid, made.id.upper(), made.id):
            found = self.reserver.find(key.replace('-', ''))
            self.assertEqual(made, found)

    def test_other_request_for_the_instance_is_a_conflict(self) -> None:
        self.create()
        for values in ({'traits': ['CUSTOM_A']}, {'service': 'host2'}):
            with self.assertRaises(exceptions.ReservationConflictError):
                self.create(**values)

    def test_each_instance_gets_a_node_of_its_own_until_none_is_left(
        self,
    ) -> None:
        nodes = {self.create(n).node_uuid for n in range(1, 5)}
        self.assertEqual(4, len(nodes))
        with self.assertRaises(refusals.NoMatchError) as caught:
            self.create(5)
        self.assertEqual(4, caught.exception.nodes)
        self.assertEqual({'instance': 4}, caught.exception.removed)
        self.assertEqual(4, len(self.everything()))

    def test_no_match_counts_the_nodes_that_each_condition_removed(
        self,
    ) -> None:
        self.ironic.put(
            node(1, resource_class='silver'),
            node(2, maintenance=True),
            node(3, traits=('CUSTOM_A',)),
        )
        with self.assertRaises(refusals.NoMatchError) as caught:
            self.create(traits=['CUSTOM_B'])
        self.assertEqual(
            {'resource_class': 1, 'trait:CUSTOM_B': 3},
            caught.exception.removed,
        )
        self.assertEqual([], self.everything())
        self.assertEqual([], self.allocations.calls)

    def test_node_that_was_taken_or_left_meanwhile_is_not_retried_forever(
        self,
    ) -> None:
        self.reserver.preview(request())
        # Not seen yet: the cached snapshot is older.
        self.ironic.put(node(1, maintenance=True), node(2, instance_uuid='i'))
        del self.ironic.nodes[world.uuid(3)]
        made = self.create()
        self.assertEqual(world.uuid(4), made.node_uuid)
        self.assert_reserved(made)

    def test_node_that_goes_into_maintenance_meanwhile_is_no_match(
        self,
    ) -> None:
        self.reserver.preview(request())
        for number in range(1, 5):
            self.ironic.put(node(number, maintenance=True))
        with self.assertRaisesRegex(refusals.NoMatchError, 'maintenance'):
            self.create()
        self.assert_nothing_is_held()

    def test_expiry_of_zero_means_never(self) -> None:
        never = model.PolicySettings.of('reservation', {'expiry': 0})
        self.start('host3', model.MemberSettings((never,)))
        self.assertIsNone(self.create(service='host3').expires_at)

    def test_preview_knows_owned_nodes_and_changes_nothing(self) -> None:
        self.operator(
            'INSERT INTO compute_nodes (uuid, host, driver, conductor_group,'
            f" reason, created_at, updated_at) VALUES ('{world.uuid(1)}', "
            "'host2', '', '', 'exclusive', 0, 0)"
        )
        choice = self.reserver.preview(request())
        self.assertEqual(3, choice.fitting)
        self.assertEqual({'owned': 1}, choice.removed)
        self.assertEqual({}, self.made)
        self.assertEqual([], self.everything())

    def test_concurrent_requests_get_different_nodes_one_for_an_instance(
        self,
    ) -> None:
        found: dict[int, list[object]] = collections.defaultdict(list)

        def create(number: int) -> None:
            reserver = self.build(self.client())
            try:
                made = reserver.create(request(number), origin=ORIGIN)
                found[number].append(made.id)
            except refusals.NoMatchError:
                found[number].append(None)

        threads = [
            threading.Thread(target=create, args=(number,))
            for number in (1, 1, 1, 2, 3, 4, 5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(7, sum(map(len, found.values())))
        self.assertLessEqual({*map(len, map(set, found.values()))}, {1})
        self.assertEqual(4, len({*itertools.chain(*found.values())} - {None}))
        self.assert_sound()


class TestServices(reserver_case.ReservingCase):
    def refuse(self, word: str, host: str = 'host1') -> None:
        with self.assertRaises(exceptions.ServiceRefusedError) as caught:
            self.create(service=host)
        self.assertIn(word, str(caught.exception))
        self.assert_nothing_is_held()
        self.assertEqual([], self.allocations.calls)

    def test_service_that_cannot_own_a_node_is_refused(self) -> None:
        with self.assertRaisesRegex(exceptions.NotFoundError, 'host1'):
            self.create(service='host9')
        self.start('host2', world.RING)
        self.refuse('policy', 'host2')
        for word, values in (
            ('disabled', {'disabled': True}),
            ('forced down', {'disabled': False, 'forced_down': True}),
        ):
            self.records.set_service('host1', actor='x', **values)
            self.shared.clock.elapse(eligibility.LONGEST_AGE + 1)
            self.refuse(word)
        self.records.set_service('host1', actor='x', forced_down=False)
        other = self.start('host3', RESERVING)
        self.settle(other)
        self.settle(other)
        self.refuse('not alive')

    def test_service_that_registers_again_meanwhile_gets_its_node(
        self,
    ) -> None:
        calls: list[None] = []

        def register() -> None:
            calls.append(None)
            if len(calls) == 1:
                incarnation = self.records.services()[0].incarnation
                self.records.register(
                    'host1', RESERVING, incarnation=incarnation
                )

        self.before(self.reservations, 'activate', register)
        self.assert_reserved(self.create())
        self.assertEqual(2, len(calls))

    def test_concurrent_requests_share_one_read_of_the_services(self) -> None:
        with unittest.mock.patch.object(
            self.records, 'services', wraps=self.records.services
        ) as asked:
            for number in (1, 2, 3):
                self.create(number)
        self.assertEqual(1, asked.call_count)

    def test_service_that_was_refused_a_moment_ago_is_looked_at_again(
        self,
    ) -> None:
        self.records.set_service('host1', actor='x', disabled=True)
        self.refuse('disabled')
        self.records.set_service('host1', actor='x', disabled=False)
        self.assert_reserved(self.create())

    def test_service_that_was_disabled_a_moment_ago_is_refused(self) -> None:
        made = self.create()
        self.records.set_service('host1', actor='x', disabled=True)
        with self.assertRaises(exceptions.ServiceRefusedError):
            self.create(2)
        self.assertEqual([made.instance_uuid], list(self.made))
        self.assert_sound()
        states = {one.state for one in self.everything() if one.id != made.id}
        self.assertEqual({CLOSED}, states)


class TestConductors(reserver_case.ReservingCase):
    def test_nodes_are_reserved_where_conductors_are_not_shown(self) -> None:
        conductors = self.ironic.failures
        conductors['conductors'] = exceptions.IronicError('403')
        self.create()
        # An Ironic that does not answer is no reason to guess.
        conductors['conductors'] = DOWN
        self.reserver = self.build()
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.create(2)

    def test_without_a_live_conductor_nothing_is_left(self) -> None:
        dead = [model.Conductor('c1', '', frozenset({'d'}), alive=False)]
        for number, workers in ((1, dead), (2, None)):
            self.ironic.workers = workers
            if workers is None:
                # They die after the nodes were read.
                self.allocations.failures['create'] = DOWN
                conductors = self.ironic.conductors
                answers = [conductors()]
                self.ironic.conductors = lambda answers=answers: (
                    answers.pop() if answers else dead
                )
            with self.assertRaises(
                exceptions.IronicUnavailableError
            ) as caught:
                self.create(number)
            self.assertIn('no conductor', str(caught.exception))
            self.assertIn('c1', caught.exception.hint)
        self.assertEqual({}, self.made)
        self.assertEqual(
            [], [r for r in self.everything() if r.state is PENDING]
        )
        self.assert_sound()


class TestEarlierReleases(reserver_case.ReservingCase):
    def test_node_without_an_allocation_is_not_released(self) -> None:
        made = self.create()
        self.operator("UPDATE reservations SET method = 'instance_uuid'")
        with self.assertRaises(exceptions.AllocationInUseError) as caught:
            self.reserver.delete(made.id, origin=ORIGIN)
        self.assertIn('Undeploy the node', caught.exception.hint)
        self.assert_reserved(self.reserver.find(made.id))


class TestOutages(reserver_case.ReservingCase):
    def test_outage_that_passes_is_waited_for(self) -> None:
        answers = [DOWN, DOWN]

        def sometimes() -> None:
            if answers:
                raise answers.pop()

        self.before(self.allocations, 'create', sometimes)
        self.assert_reserved(self.create())
        self.assertEqual(2, len(self.slept))

    def test_outage_that_lasts_leaves_what_can_be_gone_on_with(self) -> None:
        self.allocations.failures['create'] = DOWN
        with self.assertRaises(
            exceptions.ReservationUnfinishedError
        ) as caught:
            self.create()
        (left,) = self.everything()
        self.assertEqual(PENDING, left.state)
        self.assertEqual(left.id, caught.exception.reservation_id)
        self.allocations.failures.clear()
        made = self.create()
        self.assertEqual(left.id, made.id)
        self.assert_reserved(made)

    def looking(self, last: reservations.Allocation | None = None) -> None:
        """Let Ironic look for a node, for two answers or for ever."""
        looking = reservations.Allocation(
            instance(), reservations.AllocationState.ALLOCATING
        )
        answers = [looking, looking, last] if last else [looking] * 1000
        self.allocations.get = lambda _: answers.pop(0)  # type: ignore

    def test_what_another_process_asked_for_is_waited_for(self) -> None:
        self.leave_pending()
        self.slept.clear()
        self.looking()
        with self.assertRaises(exceptions.ReservationUnfinishedError):
            self.create()
        self.assertLess(20, sum(self.slept))
        self.assertGreater(60, sum(self.slept))
        self.allocate(2)
        self.looking(self.made[instance()])
        self.assert_reserved(self.create())

    def test_allocation_of_another_client_is_left_alone(self) -> None:
        self.made[instance()] = reservations.Allocation(
            instance(), reservations.AllocationState.ACTIVE, world.uuid(2)
        )
        self.ironic.put(node(2, instance_uuid=instance()))
        with self.assertRaises(exceptions.AllocationConflictError):
            self.create()
        self.assertEqual(1, len(self.made))
        self.assertEqual([CLOSED], [r.state for r in self.everything()])
        del self.made[instance()]
        # It came after the process that began the reservation was killed.
        for go_on in (self.create, lambda: self.recover(after=3600)):
            self.leave_pending()
            self.allocate(3, owner='other')
            self.made[instance()] = dataclasses.replace(
                self.made[instance()], owner=None
            )
            with contextlib.suppress(exceptions.AllocationConflictError):
                go_on()
            self.assertEqual({CLOSED}, {r.state for r in self.everything()})
            self.assertEqual([], self.records.compute_nodes())
            self.assertEqual(1, len(self.made))
            self.made.clear()
            self.ironic.put(node(3))

    def test_what_was_left_over_in_ironic_is_not_taken_for_the_answer(
        self,
    ) -> None:
        self.allocate(2)
        self.ironic.put(node(5, traits=('CUSTOM_A',)))
        made = self.create(traits=['CUSTOM_A'])
        self.assertEqual(world.uuid(5), made.node_uuid)
        self.assert_reserved(made)
        self.assert_sound()


class TestDelete(reserver_case.ReservingCase):
    def test_node_is_free_for_the_next(self) -> None:
        made = self.create()
        for key in (made.id, made.id):
            closed = self.reserver.delete(key, origin=ORIGIN)
            self.assertIs(CLOSED, closed.state)
            self.assert_nothing_is_held()
        again = self.create()
        self.assertNotEqual(made.id, again.id)
        self.assert_reserved(again)

    def test_another_service_gets_it_when_permissions_have_ended(self) -> None:
        """Its owner may not know yet that a client has deleted it."""
        self.start('host2', RESERVING)
        made = self.create()
        only = {'node': made.node_uuid}
        self.reserver.delete(made.id, origin=ORIGIN)
        with self.assertRaises(refusals.NoMatchError):
            self.create(2, service='host2', **only)
        # Its owner may have it at once.
        again = self.create(3, **only)
        self.assert_reserved(again)
        self.reserver.delete(again.id, origin=ORIGIN)
        self.operator(
            f'UPDATE compute_nodes SET held_until = held_until - {TTL / 3}'
        )
        self.create(4, service='host2', **only)

    def test_deployed_node_is_kept_with_the_reason(self) -> None:
        made = self.create()
        self.put_reserved(made, provision_state='active')
        with self.assertRaises(exceptions.AllocationInUseError):
            self.reserver.delete(made.id, origin=ORIGIN)
        kept = self.reserver.find(made.id)
        self.assert_reserved(kept)
        self.assertTrue(kept.confirmed)

    def test_outage_leaves_a_deletion_that_can_be_gone_on_with(self) -> None:
        made = self.create()
        self.allocations.failures['delete'] = DOWN
        with self.assertRaises(exceptions.ReservationUnfinishedError):
            self.reserver.delete(made.id, origin=ORIGIN)
        self.assertIs(DELETING, self.reserver.find(made.id).state)
        self.allocations.failures.clear()
        # The process that began it may still be running.
        with self.assertRaises(exceptions.ReservationUnfinishedError):
            self.reserver.delete(made.id, origin=ORIGIN)
        with self.assertRaises(exceptions.ReservationUnfinishedError):
            self.create()
        self.age(3600)
        self.reserver.delete(made.id, origin=ORIGIN)
        self.assert_nothing_is_held()

    def test_reservation_by_another_client_meanwhile_is_left_alone(
        self,
    ) -> None:
        made = self.create()
        self.made[made.instance_uuid] = dataclasses.replace(
            self.made[made.instance_uuid], owner=None
        )
        closed = self.reserver.delete(made.id, origin=ORIGIN)
        self.assertIs(CLOSED, closed.state)
        self.assertEqual(1, len(self.made))
