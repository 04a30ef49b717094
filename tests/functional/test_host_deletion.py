"""A host deletes what is gone, with real Ironic and Placement."""

from __future__ import annotations

import uuid as uuid_
from collections.abc import Mapping

from ironic_ownership.contracts import conditions
from tests.functional.support import (
    command_line,
    hosts,
    member_expiry,
    placements,
)


class HostDeletionTest(hosts.HostsTestCase, placements.PlacementTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.nodes = self.enrolment.enrol(6)
        self.placement_server.provide(*self.nodes)
        self.host = self.deployment.start(
            'host1',
            'all',
            # The trait of stopped services has its own tests, and reads.
            placement={
                **self.placement_server.options(),
                'disable_stopped': 'false',
            },
        )
        self.wait_for_records(self.nodes)

    def wait_for_records(self, nodes: list[str]) -> None:
        self.deployment.wait_for_owners(dict.fromkeys(nodes, 'host1'))

    def wait_for_line(self, text: str) -> None:
        self.deployment.wait_until(lambda: self.host.lines(text), text)

    def next_refresh(self) -> None:
        """Wait until the host has finished one more refresh at least."""
        (new,) = self.enrolment.enrol(1)
        self.nodes.append(new)
        self.deployment.wait_until(
            lambda: new in self.deployment.owned_by('host1'), 'claim'
        )

    def lose(self, uuid: str) -> None:
        self.enrolment.delete(uuid)
        self.nodes.remove(uuid)

    def test_provider_and_record_of_a_deleted_node_go(self) -> None:
        gone = self.nodes[0]
        self.lose(gone)
        self.wait_for_records(self.nodes)
        self.assertEqual(set(self.nodes), self.placement_server.providers())
        (line,) = self.host.lines(f'node {gone}: owner host1 -> none')
        self.assertIn('node_gone', line)

    def test_allocation_keeps_both_until_it_goes(self) -> None:
        gone = self.nodes[0]
        consumer = self.placement_server.allocate(gone)
        self.lose(gone)
        self.wait_for_line('refused by: no_allocation')
        self.next_refresh()
        self.assertIn(gone, self.deployment.owned_by('host1'))
        self.assertIn(gone, self.placement_server.providers())
        self.assertEqual(1, len(self.host.lines('refused by')))
        self.placement_server.free(consumer)
        self.wait_for_records(self.nodes)
        self.assertNotIn(gone, self.placement_server.providers())
        self.wait_for_line('no more records kept')

    def test_placement_down_lets_only_deletions_wait(self) -> None:
        gone = self.nodes[0]
        self.placement_server.kill()
        self.addCleanup(self.placement_server.start)
        self.lose(gone)
        self.wait_for_line('refused by: no_allocation')
        self.next_refresh()
        self.next_refresh()
        self.assertIn(gone, self.deployment.owned_by('host1'))
        self.assertEqual(1, len(self.host.lines('refused by')))
        # It must not delete before we have looked.
        member_expiry.freeze(self.deployment, self.host)
        self.placement_server.start()
        self.assertIn(gone, self.placement_server.providers())
        self.host.thaw()
        self.wait_for_records(self.nodes)
        self.assertNotIn(gone, self.placement_server.providers())

    def test_operator_deletes_in_place_of_a_service_that_hangs(self) -> None:
        gone = self.nodes[0]
        member_expiry.freeze(self.deployment, self.host)
        self.lose(gone)
        done = command_line.run(
            *('--config-file', str(self.host.config), 'compute', 'node'),
            *('delete', gone, '--yes', '-f', 'value', '-c', 'result'),
        )
        self.assertEqual('deleted', done.stdout.strip(), done.stderr)
        self.assertNotIn(gone, self.placement_server.providers())
        self.host.thaw()
        self.next_refresh()
        self.wait_for_records(self.nodes)
        kinds = [e.kind for e in self.deployment.events()]
        self.assertEqual(1, kinds.count('node_forgotten'))

    def test_steady_state_asks_placement_nothing(self) -> None:
        log = self.placement_server.directory / 'placement.log'
        self.deployment.wait_until(
            lambda: all(
                record.placement_digest
                for record in self.deployment.records.compute_nodes()
            ),
            'report to Placement',
        )
        # The last request may still be on its way: it is about the service.
        self.deployment.wait_until(self.reports, 'report of the conditions')
        (report,) = self.reports().values()
        since = report.now
        self.deployment.wait_until(
            lambda: self.last_reported_at() > since, 'end of the report'
        )
        before = log.read_text().count('requestlog')
        self.assertGreater(before, 0)
        self.next_refresh_without_a_report()
        self.next_refresh_without_a_report()
        self.assertEqual(before, log.read_text().count('requestlog'))

    def reports(self) -> Mapping[str, conditions.ConditionReport]:
        return self.deployment.records.condition_reports()

    def last_reported_at(self) -> float:
        """Return when Placement had all of a refresh for the last time."""
        return next(
            one.succeeded_at or 0.0
            for report in self.reports().values()
            for one in report.conditions
            if one.loop == conditions.Loop.PLACEMENT
        )

    def next_refresh_without_a_report(self) -> None:
        """Wait for a refresh that changed what Placement does not know."""
        uuid, name = self.nodes[0], f'renamed-{uuid_.uuid4()}'
        self.server.request(
            'PATCH',
            f'/nodes/{uuid}',
            json=[{'op': 'replace', 'path': '/name', 'value': name}],
        )

        def is_on_record() -> bool:
            found = self.deployment.records.compute_nodes_by_uuid([uuid])
            return found[0].name == name

        self.deployment.wait_until(is_on_record, 'refresh')
