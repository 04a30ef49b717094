from __future__ import annotations

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.placement import Resource
from ironic_ownership.contracts.records import Claim
from ironic_ownership.engine import availability
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.placement import inventory_diff
from tests.unit.engine import service, world
from tests.unit.engine.placement.test_report import BM, DOWN, ReportCase, node

SERVICE = inventory_diff.service_uuid('host1')
FLEET = availability.Conductors.of(
    [model.Conductor('c1', drivers=frozenset({'d1'}))]
)


class TestCapacity(ReportCase):
    """host1 may reserve them; they are unowned."""

    settings = world.RESERVING

    def report_to_placement(
        self, settings: model.MemberSettings | None = None
    ) -> None:
        policies = world.interpret(settings or self.settings)
        assert policies is not None
        self.report.report(
            refresh_result.RefreshResult(
                dict(self.ironic.nodes), policies, FLEET
            ),
            lambda: False,
        )

    def known(self) -> Resource:
        return self.placement.providers[SERVICE].resources[BM]

    def claim(self, number: int, host: str, instance: str) -> None:
        """Let a service have reserved a node."""
        self.ironic.put(node(number, instance_uuid=instance))
        claimed = self.ironic.nodes[world.uuid(number)]
        epoch = (
            self.host.fence.epoch()
            if host == 'host1'
            else self.records.register(host, world.RESERVING)
        )
        outcome = self.records.apply(
            host,
            epoch,
            [
                Claim(
                    claimed,
                    world.record(number, host).reason,
                    availability=availability.evaluate(claimed, FLEET),
                )
            ],
        )
        self.assertEqual((), outcome.refused)

    def test_service_has_one_provider_with_the_sums(self) -> None:
        # It never changes.
        self.assertEqual('28d8a0b2-6ab7-5e5d-b64d-172276154d6c', SERVICE)
        self.report_to_placement()
        self.assertEqual([SERVICE], list(self.placement.providers))
        self.assertEqual('host1', self.placement.providers[SERVICE].name)
        self.assertEqual(Resource(3), self.known())
        self.placement.writes.clear()
        self.report = self.reporter(self.host)
        self.report_to_placement()
        # Nothing again after a restart.
        self.assertEqual([], self.placement.writes)
        del self.placement.providers[SERVICE]
        self.ironic.put(node(4), node(9, shard='s'))
        self.report_to_placement()
        self.assertEqual(Resource(5), self.known())
        # Only admitted nodes count.
        self.report_to_placement(world.runs(reservation=None, shard_key='s'))
        self.assertEqual(Resource(1), self.known())

    def test_reserved_is_what_it_could_not_get(self) -> None:
        self.ironic.put(node(9, driver='gone'), node(8, maintenance=True))
        self.claim(1, 'host1', 'mine')
        self.claim(2, 'host2', 'of another')
        self.report_to_placement()
        self.assertEqual(Resource(5, reserved=3), self.known())

    def test_node_that_another_has_just_reserved_is_reserved(self) -> None:
        self.claim(2, 'host2', 'of another')
        # Before its own refresh, and after our last list.
        self.operator('UPDATE compute_nodes SET unavailable = NULL')
        self.report_to_placement()
        self.assertEqual(Resource(3, reserved=1), self.known())
        self.ironic.put(node(2))
        self.report_to_placement()
        self.assertEqual(Resource(3, reserved=1), self.known())

    def test_sums_go_when_the_service_owns_its_nodes_again(self) -> None:
        self.report_to_placement()
        self.placement.fail_with = DOWN
        self.assertRaises(
            exceptions.PlacementUnavailableError,
            self.report_to_placement,
            world.ALL,
        )
        # An outage takes nothing for gone, and sums in use stay.
        self.placement.fail_with = None
        consumers = self.placement.providers[SERVICE].consumers
        consumers.add('an instance')
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            self.report_to_placement(world.ALL)
            self.report_to_placement(world.ALL)
        self.assertEqual(1, len(logs.output))
        consumers.clear()
        self.report_to_placement(world.ALL)
        self.assertEqual({}, self.placement.providers)
        self.placement.calls.clear()
        self.report_to_placement(world.ALL)
        self.assertEqual([], self.placement.calls)
        self.report_to_placement()
        self.assertEqual(Resource(3), self.known())
        self.report_to_placement(world.ALL)
        self.assertEqual({}, self.placement.providers)

    def test_class_that_goes_while_in_use_is_logged_once(self) -> None:
        self.report_to_placement()
        self.placement.providers[SERVICE].consumers.add('an instance')
        self.ironic.nodes.clear()
        with self.assertLogs(service.LOGGER, 'WARNING') as logs:
            self.report_to_placement()
            self.report_to_placement()
        self.assertEqual(1, len(logs.output))

    def test_nothing_is_written_after_the_fence(self) -> None:
        self.operator("UPDATE services SET epoch = 99 WHERE host = 'host1'")
        self.assertRaises(exceptions.FencedError, self.report_to_placement)
        self.host.fence.drop()
        self.assertRaises(exceptions.FencedError, self.report_to_placement)
        self.assertEqual([], self.placement.calls)
