from __future__ import annotations

import threading
import unittest.mock
from collections.abc import Callable
from typing import Any

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.placement import Resource
from ironic_ownership.contracts.records import (
    BeginDeletion,
    Claim,
    Delete,
    Release,
    Update,
)
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.placement import inventory_diff, report, schedule
from tests.contract.suites import placement
from tests.unit.engine import service, world

BM = 'CUSTOM_BAREMETAL'
FREE = {BM: Resource(1)}
RESERVED = {BM: Resource(1, reserved=1)}
DOWN = exceptions.PlacementUnavailableError('down')
REFUSED = exceptions.PlacementRefusedError('no such trait')
PATIENCE = 180.0
COMPARE = 240.0


def node(number: int, **values: object) -> model.Node:
    usual = {
        'driver': 'd1',
        'resource_class': 'baremetal',
        'provision_state': 'available',
        'power_state': 'power off',
    }
    return world.node(number, **{**usual, **values})


class ReportCase(service.ServiceCase):
    """host1 has three nodes; nothing is reported yet."""

    settings = world.ALL

    def setUp(self) -> None:
        super().setUp()
        self.placement = placement.FakePlacement()
        self.ironic.put(*(node(n) for n in range(1, 4)))
        self.host = self.start('host1', self.settings)
        self.host.refresh()
        self.report = self.reporter(self.host)

    def reporter(self, of: service.Service) -> report.PlacementReport:
        return report.PlacementReport(
            of.context, self.placement, compare_interval=COMPARE
        )

    def report_to_placement(
        self, of: report.PlacementReport | None = None
    ) -> None:
        """Report what Ironic has, as after a refresh."""
        of, seen = of or self.report, self.seen()
        of.listed(seen.nodes)
        of.report(seen, lambda: False)

    def seen(self, *without: int) -> refresh_result.RefreshResult:
        """Return what a refresh saw, but for these nodes."""
        left_out = {world.uuid(number) for number in without}
        return refresh_result.RefreshResult(
            {u: n for u, n in self.ironic.nodes.items() if u not in left_out}
        )

    def make_unavailable(self, number: int, code: reasons.Unavailable) -> None:
        """Record a reason code for a node."""
        changed = Update(
            self.ironic.nodes[world.uuid(number)],
            reasons.Evaluation(code),
        )
        outcome = self.records.apply(
            'host1', self.host.fence.epoch(), [changed]
        )
        self.assertEqual((), outcome.refused)

    def known(self, number: int) -> placement.FakeProvider:
        return self.placement.providers[world.uuid(number)]

    def before_write(self, uuid: str, action: Callable[[], object]) -> None:
        """Do something once, when the provider of a node is to be made."""
        real = self.placement.put_provider

        def put_provider(asked: str, *args: Any, **kwargs: Any) -> bool:
            if asked == uuid:
                self.placement.put_provider = real  # type: ignore
                action()
            return real(asked, *args, **kwargs)

        self.placement.put_provider = put_provider  # type: ignore

    def digests(self) -> dict[int, str | None]:
        return {
            int(record.uuid[-4:]): record.placement_digest
            for record in self.records.compute_nodes()
        }


class TestReport(ReportCase):
    def test_every_own_node_gets_a_provider_of_its_uuid(self) -> None:
        self.ironic.put(node(2, traits=('CUSTOM_A',)))
        self.report_to_placement()
        self.assertEqual(
            {world.uuid(n) for n in (1, 2, 3)}, self.placement.providers.keys()
        )
        self.assertEqual(FREE, self.known(1).resources)
        self.assertEqual({'CUSTOM_A'}, self.known(2).traits)
        self.assertEqual(world.uuid(1), self.known(1).name)

    def test_new_owner_writes_nothing_again(self) -> None:
        self.report_to_placement()
        self.placement.calls.clear()
        self.report_to_placement()
        # Nor does the same one after a restart.
        self.report_to_placement(self.reporter(self.host))
        sums = inventory_diff.service_uuid('host1')
        self.assertEqual([('has_provider', sums)], self.placement.calls)
        self.placement.calls.clear()
        self.host.fence.drop()
        epoch = self.records.register('host2', world.ALL)
        seen = self.records.service('host1')
        assert seen is not None
        claims = [
            Claim(self.ironic.nodes[r.uuid], r.reason, 'host1', seen.epoch)
            for r in self.records.compute_nodes()
        ]
        self.assertEqual(
            (), self.records.apply('host2', epoch, claims).refused
        )
        other = self.start('host2')
        self.report_to_placement(self.reporter(other))
        sums = inventory_diff.service_uuid('host2')
        self.assertEqual([('has_provider', sums)], self.placement.calls)

    def test_node_that_becomes_unavailable_is_reserved(self) -> None:
        self.report_to_placement()
        self.placement.writes.clear()
        self.make_unavailable(2, reasons.Unavailable.OUT_OF_SERVICE)
        self.report_to_placement()
        self.assertEqual(RESERVED, self.known(2).resources)
        self.assertEqual(
            [('put_inventory', world.uuid(2))], self.placement.writes
        )

    def test_node_that_changes_owner_meanwhile_is_left_alone(self) -> None:
        epoch = self.host.fence.epoch()

        def release() -> None:
            self.records.apply('host1', epoch, [Release(world.uuid(3))])

        with unittest.mock.patch.object(report, 'BATCH', 1):
            self.before_write(world.uuid(1), release)
            self.report_to_placement()
        self.assertIn(world.uuid(2), self.placement.providers)
        self.assertNotIn(world.uuid(3), self.placement.providers)

    def test_newer_refresh_interrupts_between_two_batches(self) -> None:
        with unittest.mock.patch.object(report, 'BATCH', 1):
            for told in (1, 2, 3):
                with self.assertLogs(service.LOGGER, 'INFO') as logs:
                    self.report.report(self.seen(), lambda: True)
                self.assertEqual(told, len(self.placement.providers))
                self.assertIn(f', {3 - told} remaining', logs.output[-1])

    def test_batch_is_on_record_before_the_next_is_written(self) -> None:
        found: list[dict[int, str | None]] = []
        self.before_write(world.uuid(3), lambda: found.append(self.digests()))
        with unittest.mock.patch.object(report, 'BATCH', 2):
            self.report_to_placement()
        # The successor of a process that is killed now goes on from here.
        (known,) = found
        self.assertEqual([3], [n for n, one in known.items() if one is None])

    def test_deleted_provider_is_created_again(self) -> None:
        self.ironic.put(node(1, traits=('CUSTOM_A',)))
        self.report_to_placement()
        self.placement.delete_provider(world.uuid(1))
        self.make_unavailable(1, reasons.Unavailable.MAINTENANCE)
        self.report_to_placement()
        self.assertEqual(RESERVED, self.known(1).resources)
        self.assertEqual({'CUSTOM_A'}, self.known(1).traits)


class TestComparison(ReportCase):
    def wait(self, seconds: float) -> None:
        """Let time pass, in which the service stays a member."""
        while seconds > 0:
            self.shared.clock.elapse(service.TTL / 5)
            self.host.beat()
            seconds -= service.TTL / 5

    def test_each_provider_is_compared_once_in_an_interval(self) -> None:
        self.report_to_placement()
        self.placement.calls.clear()
        for _ in range(6):
            self.wait(COMPARE / 6)
            with self.assertNoLogs(service.LOGGER, 'INFO'):
                self.report_to_placement()
        wanted = [
            (method, world.uuid(n))
            for n in (1, 2, 3)
            for method in ('put_inventory', 'put_traits')
        ]
        self.assertCountEqual(wanted, self.placement.calls)

    def test_comparison_writes_only_what_differs(self) -> None:
        self.report_to_placement()
        del self.placement.providers[world.uuid(1)]
        self.known(2).resources.clear()
        self.placement.writes.clear()
        self.wait(COMPARE)
        self.placement.fail_with = DOWN
        self.assertRaises(
            exceptions.PlacementUnavailableError, self.report_to_placement
        )
        # It is retried.
        self.placement.fail_with = None
        self.report_to_placement()
        self.assertEqual(FREE, self.known(1).resources)
        self.assertEqual(FREE, self.known(2).resources)
        self.assertEqual(
            {
                ('put_provider', world.uuid(1)),
                ('put_inventory', world.uuid(1)),
                ('put_inventory', world.uuid(2)),
            },
            set(self.placement.writes),
        )

    def test_comparison_that_is_refused_leaves_what_is_on_record(self) -> None:
        self.report_to_placement()
        before = self.digests()
        self.wait(COMPARE)
        self.placement.failures['put_inventory'] = REFUSED
        with self.assertLogs(service.LOGGER, 'WARNING'):
            self.report_to_placement()
        self.assertEqual(before, self.digests())
        del self.placement.providers[world.uuid(1)]
        self.wait(COMPARE)
        with unittest.mock.patch.dict(
            self.placement.failures, {'put_traits': REFUSED}
        ):
            del self.placement.failures['put_inventory']
            self.report_to_placement()
        self.ironic.put(node(1, traits=('CUSTOM_A',)))
        self.report_to_placement()
        self.assertEqual({'CUSTOM_A'}, self.known(1).traits)
        self.assertEqual(FREE, self.known(1).resources)

    def test_outdated_nodes_come_before_comparisons(self) -> None:
        self.report_to_placement()
        self.wait(COMPARE)
        self.make_unavailable(3, reasons.Unavailable.RETIRED)
        self.placement.calls.clear()
        self.report_to_placement()
        self.assertEqual(world.uuid(3), self.placement.calls[0][1])


class TestWithdrawn(ReportCase):
    def test_withdrawn_node_gets_no_provider_again(self) -> None:
        with unittest.mock.patch.object(report, 'BATCH', 1):
            self.before_write(
                world.uuid(1), lambda: self.withdraw_in_another_thread(2)
            )
            self.report_to_placement()
        self.report.report(self.seen(2), lambda: False)
        self.assertNotIn(world.uuid(2), self.placement.providers)
        self.report_to_placement()
        self.assertIn(world.uuid(2), self.placement.providers)

    def test_earlier_refresh_makes_no_provider_of_a_deleted_node(self) -> None:
        self.report_to_placement()
        before, uuid = self.seen(), world.uuid(2)
        self.report.listed(self.seen(2).nodes)
        self.report.withdraw(uuid)
        self.records.apply(
            'host1', self.host.fence.epoch(), [BeginDeletion(uuid)]
        )
        self.placement.delete_provider(uuid)
        self.report.report(before, lambda: False)
        self.assertNotIn(uuid, self.placement.providers)
        self.assertIn(world.uuid(1), self.placement.providers)

    def test_deleted_node_is_not_kept_in_memory(self) -> None:
        self.report_to_placement()
        before, uuid = self.seen(), world.uuid(2)
        self.report.withdraw(uuid)
        for change in BeginDeletion(uuid), Delete(uuid):
            self.report.report(before, lambda: False)
            self.assertEqual({uuid}, self.report._withdrawn)
            outcome = self.records.apply(
                'host1', self.host.fence.epoch(), [change]
            )
            self.assertEqual((change,), outcome.applied)
        self.report.report(before, lambda: False)
        self.assertEqual(set(), self.report._withdrawn)

    def test_provider_is_undone_only_if_the_record_is_gone(self) -> None:
        epoch, uuid = self.host.fence.epoch(), world.uuid(2)
        for change, number in ((Release(uuid), 3), (Delete(uuid), 2)):
            self.before_write(
                uuid,
                lambda change=change: self.records.apply(
                    'host1', epoch, [change]
                ),
            )
            self.report_to_placement()
            self.assertEqual(number, len(self.placement.providers))
            self.placement.delete_provider(uuid)
            self.host.refresh()
        self.assertNotIn(uuid, self.placement.providers)

    def withdraw_in_another_thread(self, number: int) -> None:
        thread = threading.Thread(
            target=self.report.withdraw, args=(world.uuid(number),)
        )
        thread.start()
        self.addCleanup(thread.join, PATIENCE)
        while world.uuid(number) not in self.report._withdrawn:
            thread.join(0.01)

    def test_withdrawal_waits_for_a_write_in_progress(self) -> None:
        order: list[str] = []
        begun = threading.Event()

        def withdraw() -> None:
            begun.set()
            self.report.withdraw(world.uuid(2))
            order.append('withdrawn')

        thread = threading.Thread(target=withdraw, daemon=True)

        def slowly() -> None:
            thread.start()
            begun.wait(PATIENCE)
            thread.join(0.05)
            order.append('written')

        self.before_write(world.uuid(2), slowly)
        self.report_to_placement()
        thread.join(PATIENCE)
        self.assertEqual(['written', 'withdrawn'], order)


class TestRight(ReportCase):
    def test_fence_during_a_report_ends_it_immediately(self) -> None:
        self.before_write(world.uuid(2), self.host.fence.drop)
        self.assertRaises(exceptions.FencedError, self.report_to_placement)
        self.assertEqual([world.uuid(1)], list(self.placement.providers))

    def test_fenced_by_the_records_alone_writes_nothing(self) -> None:
        self.operator("UPDATE services SET epoch = 99 WHERE host = 'host1'")
        self.assertRaises(exceptions.FencedError, self.report_to_placement)
        self.assertEqual([], self.placement.calls)


class TestTrouble(ReportCase):
    def test_only_the_refused_part_is_retried_after_a_pause(self) -> None:
        self.ironic.put(node(1, traits=('CUSTOM_A',)))
        for refusal in (exceptions.ProviderBusyError('no'), REFUSED):
            self.report = self.reporter(self.host)
            self.placement.failures['put_traits'] = refusal
            with self.assertLogs(service.LOGGER, 'WARNING') as logs:
                self.report_to_placement()
            (line,) = [record.getMessage() for record in logs.records]
            self.assertIn(str(refusal), line)
            self.assertIn(world.uuid(1), line)
        # The others are not delayed.
        self.assertEqual(3, len(self.placement.providers))
        self.placement.calls.clear()
        self.report_to_placement()
        self.assertEqual([], self.placement.calls)
        for _ in range(int(schedule.FIRST_PAUSE / service.TTL) + 1):
            self.settle(self.host)
        del self.placement.failures['put_traits']
        with self.assertLogs(service.LOGGER, 'INFO') as logs:
            self.report_to_placement()
        self.assertEqual([('put_traits', world.uuid(1))], self.placement.calls)
        self.assertIn('again', logs.output[0])

    def test_what_was_accepted_before_an_outage_is_on_record(self) -> None:
        self.before_write(
            world.uuid(3), lambda: setattr(self.placement, 'fail_with', DOWN)
        )
        self.assertRaises(
            exceptions.PlacementUnavailableError, self.report_to_placement
        )
        known = self.digests()
        self.assertIsNone(known[3])
        self.assertIsNotNone(known[1])
        self.placement.fail_with = None
        self.placement.writes.clear()
        self.report_to_placement(self.reporter(self.host))
        self.assertEqual(
            {world.uuid(3)}, {u for _, u in self.placement.writes}
        )

    def test_node_that_changes_is_not_kept_waiting_by_a_refusal(self) -> None:
        self.ironic.put(node(1, traits=('CUSTOM_A',)))
        self.placement.failures['put_traits'] = REFUSED
        self.report_to_placement()
        self.make_unavailable(1, reasons.Unavailable.RETIRED)
        self.report_to_placement()
        self.assertEqual(RESERVED, self.known(1).resources)

    def test_inventory_in_use_is_kept_and_logged(self) -> None:
        self.report_to_placement()
        self.known(1).consumers.add('an instance')
        self.ironic.put(node(1, resource_class='other'))
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            self.report_to_placement()
        self.assertIn('has allocations', logs.output[0])
        self.assertEqual(FREE, self.known(1).resources)

    def test_nodes_without_a_class_are_logged_once(self) -> None:
        self.ironic.put(node(2, resource_class=None))
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            self.report_to_placement()
            self.report_to_placement()
        (line,) = logs.output
        self.assertIn(world.uuid(2), line)
        self.assertNotIn(world.uuid(2), self.placement.providers)
