"""Cost of explain and check, and snapshots while a part is down."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db import heartbeats, reservations
from ironic_ownership.engine.checks import runner
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import (
    deployment,
    deployment_reader,
    explanation,
)
from tests.unit.engine import service, world

WRITES = ('INSERT', 'UPDATE', 'DELETE', 'REPLACE', 'CREATE')


class OverviewCase(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.backend = heartbeats.DatabaseBackend(
            {'connection': self.url}, member_ttl=3600, call_timeout=20
        )
        self.addCleanup(self.backend.close)
        self.backend.join('host1', 'one', world.ALL)
        self.epoch = self.records.register('host1', world.ALL)
        self.sources = deployment_reader.Sources(
            world.interpret,
            lambda: self.records,
            lambda: self.ironic,
            lambda: self.backend,
            lambda: reservations.SqlReservations(self.database),
        )

    def fill(self, listed: int, orphans: int) -> None:
        nodes = [world.node(n) for n in range(listed + orphans)]
        self.records.apply(
            'host1',
            self.epoch,
            [Claim(n, reasons.Reason.EXCLUSIVE) for n in nodes],
        )
        self.ironic.nodes.clear()
        self.ironic.put(*nodes[:listed])

    def read(
        self, sharded: bool = False, **sources: Any
    ) -> deployment.Deployment:
        return deployment_reader.read(
            dataclasses.replace(self.sources, **sources), sharded=sharded
        )


class TestCost(service.CountedCase, OverviewCase):
    def cost(self, listed: int, orphans: int, work) -> tuple[int, int, int]:
        """Return scans, look-ups and statements."""
        self.fill(listed, orphans)
        self.statements.clear()
        self.ironic.calls.clear()
        work()
        called = [call for call, _ in self.ironic.calls]
        self.assertEqual(
            [], [s for s in self.statements if s.lstrip().startswith(WRITES)]
        )
        self.assertGreater(len(self.statements), 1)
        return called.count('scan'), called.count('get'), len(self.statements)

    def test_costs_are_the_same_for_any_number_of_nodes(self) -> None:
        ports = Ports(self.records, self.ironic, self.backend, world.interpret)

        def check() -> None:
            runner.check(self.read())

        def explain() -> None:
            self.assertIsNotNone(
                explanation.explain_node(ports, world.uuid(1))
            )

        for work, few, many, requests in (
            # As many as are on one page of the records.
            (check, (10, 0), (1500, 0), (1, 0)),
            # Orphans are looked up up to a bound.
            (check, (10, 20), (10, 1500), (1, 20)),
            (explain, (10, 10), (2000, 2000), (0, 1)),
        ):
            with self.subTest(work.__name__, few=few, many=many):
                found = self.cost(*few, work)
                self.assertEqual(found, self.cost(*many, work))
                self.assertEqual(requests, found[:2])


class TestReading(OverviewCase):
    def test_orphans_past_the_bound_are_not_verified(self) -> None:
        self.fill(5, deployment_reader.MAX_LOOKUPS + 3)
        seen = self.read()
        self.assertEqual(deployment_reader.MAX_LOOKUPS, len(seen.gone))
        self.assertEqual(3, len(seen.unverified))

    def test_node_that_is_only_not_listed_is_no_orphan(self) -> None:
        self.fill(0, 1)
        node = world.node(0, shard='a')
        self.ironic.scan = lambda scope: []  # a child node is not listed
        self.ironic.put(node)
        seen = self.read()
        self.assertEqual(
            (frozenset(), {node.uuid: node}), (seen.gone, {**seen.nodes})
        )

    def test_with_a_shard_key_each_shard_is_listed_alone(self) -> None:
        self.fill(0, 1)
        self.ironic.put(
            world.node(1, shard='a'), world.node(2, shard='b'), world.node(3)
        )
        seen = self.read(sharded=True)
        self.assertEqual(
            [model.Scope(shard='a'), model.Scope(shard='b')],
            [scope for call, scope in self.ironic.calls if call == 'scan'],
        )
        self.assertEqual([world.uuid(1), world.uuid(2)], sorted(seen.nodes))
        self.assertEqual(1, seen.unlisted)
        # A record without a shard is no orphan then.
        self.assertEqual((frozenset(),) * 2, (seen.gone, seen.unverified))
        self.assertNotIn('get', [call for call, _ in self.ironic.calls])

    def test_each_part_that_fails_leaves_the_others(self) -> None:
        error = exceptions.IronicUnavailableError('no answer')
        self.ironic.fail_with = error
        seen = self.read()
        self.assertEqual({deployment.Part.IRONIC: error}, seen.unread)
        self.assertEqual({}, seen.nodes)
        self.assertEqual(['host1'], [*seen.services])
        self.assertEqual({'host1'}, seen.view.hosts)
        self.assertRaises(exceptions.IronicUnavailableError, seen.require)

    def test_service_that_stops_meanwhile_is_expected_back(self) -> None:
        self.fill(2, 0)
        ports = Ports(self.records, self.ironic, self.backend, world.interpret)

        def stop(call: Any) -> Any:
            def stopping(*args: Any, **options: Any) -> Any:
                found = call(*args, **options)
                self.records.retire('host1', self.epoch, grace=600)
                self.backend.leave()
                return found

            return stopping

        for name, read in (
            ('scan', self.read),
            (
                'get',
                lambda: explanation.explain_node(ports, world.uuid(1)).owner,
            ),
        ):
            self.backend.join('host1', 'one', world.ALL)
            self.epoch = self.records.register('host1', world.ALL)
            call = stop(getattr(self.ironic, name))
            with mock.patch.object(self.ironic, name, call):
                found = read()
            row = found.services['host1'] if name == 'scan' else found
            self.assertTrue(row.away, name)

    def test_failing_records_are_asked_once(self) -> None:
        fail = mock.Mock(
            side_effect=exceptions.RecordsUnavailableError('no answer')
        )
        seen = self.read(records=fail)
        fail.assert_called_once_with()
        self.assertEqual([deployment.Part.RECORDS], list(seen.unread))
        self.assertEqual({}, seen.nodes)

    def test_wrong_configuration_is_no_outage(self) -> None:
        fail = mock.Mock(side_effect=exceptions.ConfigurationError(['wrong']))
        with self.assertRaises(exceptions.ConfigurationError):
            self.read(records=fail)

    def test_pauses_are_read_where_they_are_requested_only(self) -> None:
        with mock.patch.object(self.records, 'pauses') as pauses:
            self.read(reservations=None)
            pauses.assert_not_called()
            self.read()
            pauses.assert_called_once_with()
