"""Laws of purging, on every database."""

from __future__ import annotations

import dataclasses

import sqlalchemy as sa

from ironic_ownership.contracts import model, moves
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.records import Delete, Update
from ironic_ownership.db import connection, heartbeats, purge, tables
from tests.contract.suites import records
from tests.contract.suites.moves import MoveCase

DAY = 86400.0
_TIMES = {
    tables.events: ('at',),
    tables.moves: ('created_at',),
    tables.node_moves: ('updated_at',),
    tables.instances: ('created_at', 'deleted_at'),
    tables.reservations: ('created_at', 'updated_at'),
    tables.compute_nodes: ('created_at', 'updated_at', 'deleted_at'),
}


class PurgeContract(records.RecordsContract):
    """History of two days ago is purged, and that of today stays."""

    database: connection.Database

    make_moves = MoveCase.make_moves
    seen = MoveCase.seen
    planned = MoveCase.planned

    def setUp(self) -> None:
        super().setUp()
        self.moves = self.make_moves()
        self.one = self.register('host1')
        self.register('host2')

    def age(self, days: float = 2) -> None:
        """Make everything on record older."""

        def work(conn: sa.Connection) -> None:
            for table, names in _TIMES.items():
                conn.execute(
                    sa.update(table).values(
                        {n: table.c[n] - days * DAY for n in names}
                    )
                )

        self.database.write(work)

    def purge(self, batch: int = purge.BATCH) -> dict[str, int]:
        """Purge what is older than a day; return what was deleted.

        A dry run before has to announce it, and another one nothing more.
        """
        before = purge.now(self.database) - DAY
        announced = purge.count(self.database, before)
        done = purge.run(self.database, before, batch)
        self.assertEqual(announced, done)
        self.assertEqual({0}, set(purge.count(self.database, before).values()))
        return {name: number for name, number in done.items() if number}

    def use(self, *numbers: int) -> None:
        """Let nodes get an instance and lose it."""
        for n in numbers:
            self.assert_applied(
                'host1',
                self.one,
                records.claim(n, instance_uuid=records.uuid(900 + n)),
                Update(records.node(n)),
            )

    def join(self, host: str, incarnation: str, ttl: float) -> None:
        url = self.database.engine.url.render_as_string(hide_password=False)
        member = heartbeats.DatabaseBackend(
            {'connection': url}, member_ttl=ttl, call_timeout=60
        )
        self.addCleanup(member.close)
        member.join(host, incarnation, model.MemberSettings(()))

    def test_members_that_will_not_return_go(self) -> None:
        """A host whose name no process has again leaves rows for ever."""
        for host, incarnation in (('gone', 'i1'), ('gone', 'i2'), ('on', 'i')):
            self.join(host, incarnation, 60.0)
        members = tables.members
        self.database.write(
            lambda conn: conn.execute(
                sa.update(members)
                .where(members.c.host == 'gone')
                .values(expires_at=members.c.expires_at - 2 * DAY)
            )
        )
        self.assertEqual({'expired members': 2}, self.purge(batch=1))
        (left,) = heartbeats.last(self.database)
        self.assertEqual('on', left.member.host)

    def test_member_that_expired_today_stays(self) -> None:
        self.join('host1', 'i', -3600.0)
        purge.run(self.database, purge.now(self.database))
        self.assertEqual(1, len(heartbeats.last(self.database)))

    def test_old_history_goes_and_new_history_stays(self) -> None:
        self.use(1, 2, 3)
        self.age()
        self.use(4)
        before = self.records.compute_nodes()
        services = self.records.services()
        done = self.purge()
        self.assertEqual({'events': 11, 'closed instances': 3}, done)
        self.assertEqual(3, len(self.records.events()))
        self.assertCountEqual(before, self.records.compute_nodes())
        self.assertEqual(services, self.records.services())
        self.assertEqual({}, self.purge())

    def test_old_rows_are_looked_for_once_and_not_for_each_batch(self) -> None:
        self.use(*range(1, 8))
        self.age()
        asked: list[str] = []
        sa.event.listen(
            self.database.engine,
            'before_cursor_execute',
            lambda *args: asked.append(args[2]),
        )
        purge.run(self.database, purge.now(self.database) - DAY, batch=1)
        found = [text for text in asked if text.startswith('SELECT events.id')]
        self.assertEqual(1, len(found))

    def test_number_of_rows_is_no_multiple_of_the_batch(self) -> None:
        self.use(*range(1, 8))
        self.age()
        self.assertEqual(
            {'events': 23, 'closed instances': 7}, self.purge(batch=5)
        )

    def test_open_instance_stays_with_its_node(self) -> None:
        self.assert_applied(
            'host1',
            self.one,
            records.claim(1, instance_uuid=records.uuid(901)),
        )
        self.age()
        self.purge()
        self.assertEqual(records.uuid(901), self.instance(1))

    def test_last_epoch_of_a_deleted_service_stays(self) -> None:
        for _ in range(3):
            last = self.register('host3')
        self.records.delete_service('host3', actor='x')
        self.age()
        self.purge()
        (event,) = self.records.events(EventFilter(service='host3'))
        self.assertEqual('service_deleted', event.kind)
        self.assertGreater(self.register('host3'), last)

    def test_deleted_node_goes_and_may_return(self) -> None:
        self.use(1)
        self.assert_applied('host1', self.one, Delete(records.uuid(1)))
        self.age()
        self.use(2)
        self.assert_applied('host1', self.one, Delete(records.uuid(2)))
        self.assertEqual(
            {
                'events': 6,
                'closed instances': 1,
                'deleted compute nodes': 1,
            },
            self.purge(),
        )
        self.assert_applied(
            'host1', self.one, records.claim(1), records.claim(2)
        )
        self.assertEqual('host1', self.owner(1))

    def test_deleted_node_stays_with_a_young_instance(self) -> None:
        self.use(1)
        self.assert_applied('host1', self.one, Delete(records.uuid(1)))
        self.age()
        statement = sa.update(tables.instances).values(
            deleted_at=purge.now(self.database)
        )
        self.database.write(lambda conn: conn.execute(statement))
        self.assertEqual({'events': 6}, self.purge())

    def test_finished_move_goes_and_one_to_resume_stays(self) -> None:
        self.assert_applied(
            'host1', self.one, *map(records.claim, range(1, 5))
        )
        self.records.set_service('host1', actor='x', disabled=True)
        finished = self.planned(self.seen(1), self.seen(2))
        self.moves.carry_out(finished, [self.seen(1), self.seen(2)])
        half = self.planned(self.seen(3), self.seen(4))
        self.moves.carry_out(half, [self.seen(3)])
        self.age()
        young = self.planned(self.seen(4))
        self.moves.refuse(young, {records.uuid(4): 'x'})
        done = self.purge(batch=1)
        self.assertEqual((2, 1), (done['nodes of moves'], done['moves']))
        self.assertEqual(
            {half, young}, {m.request_id for m in self.moves.moves()}
        )
        self.assertIsNone(self.moves.find(finished))
        (moved,) = self.moves.carry_out(half, [self.seen(4)])
        self.assertEqual(moves.NodeState.MOVED, moved.state)

    def test_move_with_a_trial_to_verify_stays(self) -> None:
        self.assert_applied('host1', self.one, records.claim(1))
        self.records.set_service('host1', actor='x', disabled=True)
        node = dataclasses.replace(self.seen(1), trial=moves.Trial.FIRST)
        tried = self.planned(node)
        self.moves.carry_out(tried, [node])
        self.age()
        self.assertNotIn('moves', self.purge())
        (left,) = self.moves.moves(unfinished=True)
        self.assertEqual(tried, left.request_id)
        self.moves.pass_trial(tried)
        self.assertEqual(1, self.purge()['moves'])

    def test_open_reservation_stays(self) -> None:
        rows = [
            {
                'id': records.uuid(n),
                'instance_uuid': records.uuid(n),
                'open_instance_uuid': opened,
                'host': 'host1',
                'state': state,
                'method': 'update',
                'request': '{}',
                'confirmed': False,
                'created_at': 1.0,
                'updated_at': 1.0,
            }
            for n, state, opened in (
                (1, 'closed', None),
                (2, 'active', records.uuid(2)),
                (3, 'deleting', records.uuid(3)),
            )
        ]
        statement = sa.insert(tables.reservations)
        self.database.write(lambda conn: conn.execute(statement, rows))
        self.assertEqual({'closed reservations': 1}, self.purge())
