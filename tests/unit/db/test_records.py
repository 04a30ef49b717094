from __future__ import annotations

import unittest.mock

import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Delete,
    NodeFilter,
    Outcome,
    Release,
    Update,
)
from ironic_ownership.db import heartbeats, records, tables
from tests.unit.db import sqlite

HOSTS = ('host1', 'host2', 'host3')
INSTANCES = (None, None, 'i1', 'i2')


def uuid(number: int) -> str:
    return f'00000000-0000-0000-0000-{number:012d}'


def claims(numbers: range) -> list[Change]:
    return [
        Claim(model.Node(uuid(n)), reasons.Reason.EXCLUSIVE) for n in numbers
    ]


class TestStatements(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()
        self.records = records.SqlRecords(self.database)
        self.statements: list[str] = []
        self.epoch = self.records.register('host1', model.MemberSettings())

        self.compiled: list[str] = []

        @sa.event.listens_for(self.database.engine, 'before_cursor_execute')
        def count(conn, cursor, statement, parameters, context, many) -> None:
            self.statements.append(statement)
            if context.compiled and context.cache_hit.name != 'CACHE_HIT':
                self.compiled.append(statement)

    def counted(self, changes: list[Change]) -> int:
        self.statements.clear()
        outcome = self.records.apply('host1', self.epoch, changes)
        self.assertEqual((), outcome.refused)
        return len(self.statements)

    def test_statements_are_compiled_once(self) -> None:
        for number in range(2):
            self.compiled.clear()
            self.records.service_and_node('host1', uuid(number))
            self.records.service('host1')
            self.records.services()
            self.records.condition_reports()
            heartbeats.MemberRow('host1', 'one', 60).beat(self.database)
        self.assertEqual([], self.compiled)

    def test_number_of_statements_does_not_grow_with_the_nodes(self) -> None:
        few, many = range(1), range(1, 401)
        self.assertEqual(self.counted(claims(few)), self.counted(claims(many)))
        for change in (
            lambda n: Update(model.Node(uuid(n), instance_uuid='i')),
            lambda n: Update(model.Node(uuid(n), name='new')),
            lambda n: Release(uuid(n)),
        ):
            self.assertEqual(
                self.counted([change(n) for n in few]),
                self.counted([change(n) for n in many]),
            )

    def test_update_without_a_change_writes_nothing(self) -> None:
        self.records.apply('host1', self.epoch, claims(range(5)))
        self.counted([Update(model.Node(uuid(n))) for n in range(5)])
        written = [
            s
            for s in self.statements
            if s.startswith(('INSERT', 'UPDATE', 'DELETE'))
        ]
        self.assertEqual([], written)

    def test_epoch_after_deletions_is_greater_than_all_of_them(self) -> None:
        far = 10**15  # milliseconds, long after the database's clock
        event = {'actor': 'a', 'kind': 'service_deleted', 'from_host': 'host9'}
        # Where several servers write, ids are not in the order of commits.
        late_and_early = [
            {**event, 'id': 900, 'at': 1.0, 'reason': f'epoch {far + 4}'},
            {**event, 'id': 901, 'at': 2.0, 'reason': f'epoch {far + 3}'},
        ]
        self.database.write(
            lambda conn: conn.execute(sa.insert(tables.events), late_and_early)
        )
        epoch = self.records.register('host9', model.MemberSettings())
        self.assertGreater(epoch, far + 4)

    def test_records_to_keep_are_read_page_by_page(self) -> None:
        self.records.apply('host1', self.epoch, claims(range(30)))
        expected = {one.uuid: one for one in self.records.compute_nodes()}
        for size in (7, 15, 30, 31):
            with unittest.mock.patch.object(records, 'PAGE', size):
                self.statements.clear()
                found = [
                    *self.records.in_reach('host1', model.Scope(nothing=True))
                ]
            self.assertEqual(expected, {one.uuid: one for one in found})
            queries = [s for s in self.statements if s != 'BEGIN']
            self.assertEqual(30 // size + 1, len(queries))

    def test_each_read_is_one_query(self) -> None:
        self.records.apply('host1', self.epoch, claims(range(300)))
        for read in (
            self.records.compute_nodes,
            self.records.services,
            self.records.counts,
            self.records.events,
            lambda: self.records.compute_nodes(NodeFilter(host='host1')),
        ):
            self.statements.clear()
            read()
            self.assertEqual(
                1, len([s for s in self.statements if s != 'BEGIN'])
            )


class TestRows(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()
        self.records = records.SqlRecords(self.database)
        self.epoch = self.records.register('host1', model.MemberSettings())

    def instance_hosts(self) -> list[str | None]:
        return self.database.read(
            lambda conn: list(
                conn.execute(
                    sa.select(tables.instances.c.host).where(
                        tables.instances.c.open_node_uuid.is_not(None)
                    )
                ).scalars()
            )
        )

    def claim(self, **values: str | None) -> Outcome:
        node = model.Node(uuid(1), **values)
        return self.records.apply(
            'host1', self.epoch, [Claim(node, reasons.Reason.EXCLUSIVE)]
        )

    def test_open_instance_follows_its_node_to_the_new_owner(self) -> None:
        for values in ({}, {'instance_uuid': 'i1'}):
            sqlite.run_sql(self.database, 'DELETE FROM instances')
            sqlite.run_sql(self.database, 'DELETE FROM compute_nodes')
            self.claim(instance_uuid='i1')
            sqlite.run_sql(self.database, 'UPDATE compute_nodes SET host=NULL')
            sqlite.run_sql(self.database, "UPDATE instances SET host='gone'")
            self.assertEqual((), self.claim(**values).refused)
            self.assertEqual(['host1'], self.instance_hosts())

    def test_returning_node_keeps_the_time_of_its_creation(self) -> None:
        self.claim()
        sqlite.run_sql(self.database, 'UPDATE compute_nodes SET created_at=5')
        self.records.apply('host1', self.epoch, [Delete(uuid(1))])
        self.claim()
        created = self.database.read(
            lambda conn: conn.execute(
                sa.select(tables.compute_nodes.c.created_at)
            ).scalar_one()
        )
        self.assertEqual(5, created)

    def test_claim_from_a_deleted_service_needs_no_epoch(self) -> None:
        self.claim()
        epoch = self.records.register('host2', model.MemberSettings())
        sqlite.run_sql(
            self.database, "DELETE FROM services WHERE host='host1'"
        )
        for seen_epoch, applied in ((1, 0), (None, 1)):
            outcome = self.records.apply(
                'host2',
                epoch,
                [
                    Claim(
                        model.Node(uuid(1)),
                        reasons.Reason.ASSIGNED,
                        'host1',
                        seen_epoch,
                    )
                ],
            )
            self.assertEqual(applied, len(outcome.applied))

    def test_rows_of_a_newer_release_can_be_read(self) -> None:
        self.claim()
        sqlite.run_sql(self.database, "UPDATE compute_nodes SET reason='new'")
        sqlite.run_sql(
            self.database,
            'UPDATE services SET settings=\'{"contract_version": 1, '
            '"policies": [{"name": "a", "options": {"x": {}}}]}\'',
        )
        self.assertEqual('host1', self.records.compute_nodes()[0].host)
        (service,) = self.records.services()
        self.assertEqual(0, service.settings.contract_version)


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(('claim', 'steal', 'release', 'forget', 'update')),
        st.sampled_from(HOSTS),
        st.integers(0, 2),
        st.sampled_from(INSTANCES),
        st.sampled_from((None, *HOSTS)),
        st.booleans(),
    ),
    max_size=25,
)


class TestLaws(sqlite.SqliteCase):
    """Three services write in any order."""

    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()
        self.records = records.SqlRecords(self.database)

    # The examples of the law are shared by two tests of seconds.
    @settings(max_examples=30, deadline=None)
    @given(_STEPS)
    def test_events_give_the_owners_and_instances_stay(self, steps) -> None:
        self.check(steps)

    @settings(max_examples=30, deadline=None)
    @given(_STEPS)
    def test_events_of_further_histories_do_so_too(self, steps) -> None:
        self.check(steps)

    def check(self, steps) -> None:
        self.delete_all()
        epochs = {
            host: self.records.register(host, model.MemberSettings())
            for host in HOSTS
        }
        fenced, nodes = self.fenced(), self.nodes()
        for kind, host, number, instance, seen, again in steps:
            if again:
                epochs[host] = self.records.register(
                    host, model.MemberSettings()
                )
                fenced[host] = False
            self.try_step(epochs, fenced, kind, host, number, instance, seen)
            before, nodes, fenced = nodes, self.nodes(), self.fenced()
            self.check_step(before, nodes, host, fenced)
        self.assertEqual(
            {u: n.host for u, n in nodes.items() if n.host},
            self.owners_in_events(),
        )

    def delete_all(self) -> None:
        def work(conn: sa.Connection) -> None:
            for table in reversed(tables.metadata.sorted_tables):
                conn.execute(sa.delete(table))

        self.database.write(work)

    def fenced(self) -> dict[str, bool]:
        return {s.host: s.fenced for s in self.records.services()}

    def nodes(self) -> dict[str, model.ComputeNode]:
        return {n.uuid: n for n in self.records.compute_nodes()}

    def try_step(self, epochs, fenced, kind, host, number, instance, seen):
        node = model.Node(uuid(number), instance_uuid=instance)
        change = {
            'claim': Claim(node, reasons.Reason.EXCLUSIVE),
            'steal': Claim(
                node, reasons.Reason.ASSIGNED, seen, epochs.get(seen)
            ),
            'release': Release(node.uuid),
            'forget': Delete(node.uuid),
            'update': Update(node),
        }[kind]
        try:
            self.records.apply(host, epochs[host], [change])
        except exceptions.FencedError:
            self.assertTrue(fenced[host])
        else:
            self.assertFalse(fenced[host])

    def check_step(self, before, after, writer, fenced) -> None:
        """Check laws 1 and 2 on the changes of one step."""
        for number, old in before.items():
            new = after.get(number)
            if old.instance_uuid:
                self.assertEqual(old.host, new and new.host)
            if old.host not in (None, writer) and new != old:
                self.assertEqual(writer, new.host)
                self.assertTrue(fenced[old.host])
        for number, new in after.items():
            if new != before.get(number):
                self.assertIn(new.host, (writer, None))

    def owners_in_events(self) -> dict[str, str]:
        owners: dict[str, str] = {}
        for event in reversed(self.records.events(limit=10_000)):
            if event.kind not in ('owner_changed', 'node_forgotten'):
                continue
            self.assertEqual(owners.get(event.node_uuid), event.from_host)
            if event.to_host is None:
                owners.pop(event.node_uuid, None)
            else:
                owners[event.node_uuid] = event.to_host
        return owners
