from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.records import Report
from ironic_ownership.engine.host import refresh_result
from tests.contract.suites import placement
from tests.unit.engine import service, world


class Reporter:
    """Records the results, and the owners at that moment."""

    def __init__(self, case: service.ServiceCase) -> None:
        self._case = case
        self.received: list[tuple[set[str], dict[int, str | None]]] = []
        self.withdrawn: list[str] = []

    def refreshed(self, seen: refresh_result.RefreshResult) -> None:
        nodes = set(seen.nodes)
        self.received.append((nodes, self._case.owners()))
        self.policies = seen.policies

    def withdraw(self, uuid: str) -> None:
        self.withdrawn.append(uuid)


class TestReporter(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(n, shard='a') for n in range(1, 6)))
        self.reporter = Reporter(self)
        self.placement = placement.FakePlacement([world.uuid(1)])
        self.host = self.start(
            'host1',
            world.runs(shard_key='a'),
            reporter=self.reporter,
            placement=self.placement,
        )

    def test_all_own_nodes_are_reported_after_the_changes_are_written(
        self,
    ) -> None:
        self.host.refresh()
        (nodes, owners), *rest = self.reporter.received
        self.assertEqual({world.uuid(n) for n in range(1, 6)}, nodes)
        self.assertEqual(dict.fromkeys(range(1, 6), 'host1'), owners)
        self.assertEqual([], rest)
        self.assertEqual('a', self.reporter.policies.scope.shard)

    def test_node_that_left_the_scope_is_reported(self) -> None:
        self.host.refresh()
        self.ironic.put(world.node(1, shard='b'))
        self.host.refresh()
        self.assertIn(world.uuid(1), self.reporter.received[-1][0])

    def test_forced_down_reports_nothing(self) -> None:
        self.host.refresh()
        self.ironic.put(*(world.node(n, shard='a') for n in range(1, 6)))
        self.operator('UPDATE services SET forced_down = 1')
        with self.assertRaises(exceptions.FencedError):
            self.host.refresh()
        self.assertEqual(1, len(self.reporter.received))

    def test_provider_is_withdrawn_before_it_is_deleted(self) -> None:
        self.host.refresh()
        gone = world.uuid(1)
        self.records.apply(
            'host1', self.host.fence.epoch(), [Report(gone, 'known')]
        )
        fake = self.placement
        seen: list[object] = []
        real = fake.delete_provider

        def delete_provider(uuid: str) -> bool:
            (record,) = self.records.compute_nodes_by_uuid([uuid])
            seen.append((record.placement_digest, self.reporter.withdrawn[:]))
            return real(uuid)

        fake.delete_provider = delete_provider  # type: ignore[method-assign]
        del self.ironic.nodes[gone]
        self.host.refresh()
        self.assertEqual([(None, [gone])], seen)
        self.assertEqual({}, fake.providers)
