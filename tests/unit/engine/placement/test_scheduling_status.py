"""The scheduler follows the services: nodes without one are not offered."""

from __future__ import annotations

from unittest import mock

from ironic_ownership.contracts import exceptions, placement
from ironic_ownership.engine.placement.scheduling_status import (
    SchedulingStatus,
)
from tests.contract.suites.placement import FakePlacement
from tests.unit.engine import service, world

A, B, C = (world.runs(shard_key=shard) for shard in 'abc')


class TestSchedulingStatus(service.ServiceCase):
    """``host1`` owns nodes 1 and 2, ``host2`` node 3."""

    def setUp(self) -> None:
        super().setUp()
        for number, shard in ((1, 'a'), (2, 'a'), (3, 'b')):
            self.ironic.put(world.node(number, shard=shard, driver='fake'))
        self.placement = FakePlacement(map(world.uuid, range(1, 4)))
        self.services: dict[str, service.Service] = {}
        self.statuses: dict[str, SchedulingStatus] = {}
        for host, settings in (('host1', A), ('host2', B)):
            self.serve(host, settings)
        self.work()

    def serve(self, host: str, settings: object) -> None:
        started = self.start(host, settings)  # type: ignore[arg-type]
        if started.member.state.role != 'standby':
            started.refresh()
        self.services[host] = started
        self.statuses[host] = SchedulingStatus(
            *(started.context, self.placement, started.member.liveness),
            covers_conductors=True,
        )

    def work(self) -> None:
        """Let the services notice deaths, and report."""
        for _ in range(2):
            self.settle(*self.services.values())
        for host, status in self.statuses.items():
            if host in self.services:
                status.report(lambda: False)

    def marked(self) -> set[int]:
        return {int(uuid[-4:]) for uuid in self.placement.disabled()}

    def operate(self, host: str, **values: bool) -> None:
        self.records.set_service(host, actor='operator', **values)

    def test_disabled_and_forced_down_services(self) -> None:
        self.placement.put_traits(world.uuid(1), {'CUSTOM_X'})
        for change in ('disabled', 'forced_down'):
            self.operate('host1', **{change: True})
            self.statuses['host2'].report(lambda: False)
            self.assertEqual({1, 2}, self.marked())
            found = self.placement.traits(world.uuid(1))
            assert found is not None
            self.assertEqual({'CUSTOM_X', placement.DISABLED}, found.names)
            self.operate('host1', **{change: False})
            self.services['host1'].beat()
            self.work()
            self.assertEqual(set(), self.marked())
        # Without any other, one that is only disabled marks its own.
        for host in ('host1', 'host2'):
            self.operate(host, disabled=True)
        self.work()
        self.assertEqual({1, 2, 3}, self.marked())

    def test_nodes_of_a_dead_service_until_it_returns(self) -> None:
        del self.services['host1']
        self.work()
        self.assertEqual({1, 2}, self.marked())
        self.placement.calls.clear()
        self.work()
        self.assertEqual([], self.placement.calls)
        self.serve('host1', A)
        self.work()
        self.assertEqual(set(), self.marked())

    def test_nodes_of_release_1_0_are_offered_by_another(self) -> None:
        del self.services['host1']
        self.work()
        self.assertEqual({1, 2}, self.marked())
        with mock.patch.object(service, 'process_info', lambda: None):
            self.serve('host1', A)
        # It writes no trait, and is not asked to write for others.
        del self.statuses['host1']
        self.work()
        self.assertEqual(set(), self.marked())
        self.placement.calls.clear()
        self.work()
        self.assertEqual([], self.placement.calls)
        self.serve('host3', C)
        self.operate('host2', disabled=True)
        self.work()
        self.assertEqual({3}, self.marked())

    def test_node_out_of_service_until_it_returns(self) -> None:
        for code, marked in (("'out_of_service'", {2}), ('NULL', set())):
            self.operator(
                f'UPDATE compute_nodes SET unavailable = {code} '
                f"WHERE uuid = '{world.uuid(2)}'"
            )
            self.work()
            self.assertEqual(marked, self.marked())
            self.placement.calls.clear()
            self.work()
            self.assertEqual([], self.placement.calls)

    def test_node_out_of_service_stays_marked_when_its_service_returns(
        self,
    ) -> None:
        self.operator(
            "UPDATE compute_nodes SET unavailable = 'out_of_service'"
        )
        # The inventory that host2 reports covers them.
        self.statuses['host2'].covers_conductors = False
        self.work()
        self.assertEqual({1, 2}, self.marked())
        self.operate('host1', disabled=True)
        self.work()
        self.operate('host1', disabled=False)
        self.operator('UPDATE compute_nodes SET unavailable = NULL')
        self.work()
        self.assertEqual(set(), self.marked())

    def test_outage_and_providers_that_are_missing_or_busy(self) -> None:
        self.operate('host1', disabled=True)
        report = self.statuses['host2'].report
        self.placement.fail_with = exceptions.PlacementUnavailableError('x')
        with self.assertRaises(exceptions.PlacementUnavailableError):
            report(lambda: False)
        self.placement.fail_with = None
        del self.placement.providers[world.uuid(1)]
        busy = exceptions.ProviderBusyError('others keep changing it')
        self.placement.failures['put_disabled'] = busy
        report(lambda: False)
        self.assertEqual(set(), self.marked())
        self.placement.failures.clear()
        report(lambda: False)
        self.assertEqual({2}, self.marked())

    def test_service_that_gets_a_node_takes_the_mark_back(self) -> None:
        self.operate('host1', disabled=True)
        self.work()
        self.operator(
            f"UPDATE compute_nodes SET host = 'host2' WHERE uuid = "
            f"'{world.uuid(1)}'"
        )
        self.operator('UPDATE services SET revision = revision + 1')
        self.work()
        self.assertEqual({2}, self.marked())

    def test_service_that_is_only_suspected_keeps_its_nodes(self) -> None:
        self.services.clear()
        self.shared.clock.elapse(3 * service.TTL)
        # An observer that has just started knows too little.
        self.serve('host3', C)
        self.statuses['host3'].report(lambda: False)
        self.assertEqual(set(), self.marked())
        self.work()
        self.assertEqual({1, 2, 3}, self.marked())

    def test_service_that_was_never_seen_keeps_its_nodes(self) -> None:
        self.operator(
            'INSERT INTO services (host, epoch, disabled, forced_down, '
            "fenced, settings) VALUES ('adopted', 0, 0, 0, 0, '')"
        )
        self.operator("UPDATE compute_nodes SET host = 'adopted'")
        self.work()
        self.assertEqual(set(), self.marked())

    def test_service_that_returns_meanwhile_is_marked_no_more(self) -> None:
        self.operate('host1', disabled=True)
        put = self.placement.put_disabled

        def put_late(uuid: str, disabled: bool, **values: object) -> bool:
            if disabled:
                self.operate('host1', disabled=False)
            return put(uuid, disabled, **values)  # type: ignore[arg-type]

        self.placement.put_disabled = put_late  # type: ignore[method-assign]
        self.statuses['host2'].report(lambda: False)
        self.assertEqual(set(), self.marked())

    def test_fenced_service_writes_nothing(self) -> None:
        self.operate('host1', disabled=True)
        disabled, fence = self.placement.disabled, self.services['host2'].fence

        def disabled_late() -> frozenset[str]:
            fence.drop()
            return disabled()

        self.placement.disabled = disabled_late  # type: ignore[method-assign]
        for _ in range(2):
            with self.assertRaises(exceptions.FencedError):
                self.statuses['host2'].report(lambda: False)
        self.placement.disabled = disabled  # type: ignore[method-assign]
        self.assertEqual(set(), self.marked())
