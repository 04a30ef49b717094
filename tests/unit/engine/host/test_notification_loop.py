from __future__ import annotations

import threading
from collections.abc import Callable
from unittest import mock

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.db.outbox import SqlOutbox
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import notification_loop
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.unit.db import sqlite
from tests.unit.engine import world

DOWN = exceptions.NotificationError('the message broker is down')


class Broker:
    """Keeps what is sent; ``error`` is raised instead while it is set.

    :ivar meanwhile: called after each event.
    """

    def __init__(self) -> None:
        self.sent: list[str | None] = []
        self.error: exceptions.NotificationError | None = None
        self.meanwhile: Callable[[], object] = lambda: None

    def __call__(self, event: model.Event) -> None:
        if self.error is not None:
            raise self.error
        self.sent.append(event.to_host)
        self.meanwhile()


class TestNotificationLoop(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()
        self.records = SqlRecords(self.database)
        self.broker = Broker()
        self.clock = FakeClock()
        self.loop = self.make('a')

    def make(self, sender: str) -> notification_loop.NotificationLoop:
        return notification_loop.NotificationLoop(
            SqlOutbox(self.database),
            self.broker,
            sender,
            86400,
            conditions.Conditions(self.clock),
        )

    def happen(self, *names: str) -> None:
        for name in names:
            self.records.register(name, world.ALL)

    def condition(self, loop: notification_loop.NotificationLoop):
        (found,) = loop.conditions.of_loops([Loop.NOTIFICATIONS])
        return found

    def run_sql(self, *statements: str) -> None:
        for statement in statements:
            sqlite.run_sql(self.database, statement)

    def set_back(self) -> None:
        """Set the clock of the database back by an hour."""
        self.run_sql(
            'UPDATE events SET at = at + 3600',
            'UPDATE outbox SET position = position + 3600',
            'UPDATE outbox SET sender_until = sender_until + 3600',
        )

    def test_each_event_is_sent_once_in_order_and_page_by_page(self) -> None:
        self.enterContext(mock.patch.object(notification_loop, '_PAGE', 3))
        self.loop.run_step()
        names = [f'host{number}' for number in range(10)]
        for some in (names[:1], [], names[1:], []):
            self.happen(*some)
            self.assertLessEqual(
                notification_loop.INTERVAL, self.loop.run_step()
            )
        self.assertEqual(names, self.broker.sent)
        self.assertIsNotNone(self.condition(self.loop).succeeded_at)

    def test_slow_broker_does_not_delay_what_happens_next(self) -> None:
        self.loop.run_step()
        self.happen('x')
        self.broker.meanwhile = lambda: self.clock.elapse(60)
        pause = self.loop.run_step()
        self.assertLess(notification_loop.INTERVAL, pause)
        # It keeps its turn, which no other service might take.
        self.assertLessEqual(pause, notification_loop.LEASE / 2)

    def test_event_of_a_long_transaction_is_sent_late(self) -> None:
        self.loop.run_step()
        self.happen('x', 'y')
        self.loop.run_step()
        self.happen('z')
        self.run_sql("UPDATE events SET at = at - 20 WHERE to_host = 'z'")
        self.loop.run_step()
        self.assertEqual(['x', 'y', 'z'], self.broker.sent)

    def test_clock_that_is_set_back_loses_no_event(self) -> None:
        self.loop.run_step()
        self.happen('x')
        self.loop.run_step()
        self.set_back()
        for name in 'yz':
            self.happen(name)
            self.loop.run_step()
            self.loop.run_step()
        self.assertEqual(['y', 'z'], [h for h in self.broker.sent if h != 'x'])

    def test_turn_from_before_the_clock_was_set_back_is_free(self) -> None:
        self.loop.run_step()
        self.set_back()
        self.happen('y')
        self.make('b').run_step()
        self.assertEqual(['y'], self.broker.sent)

    def test_broker_that_is_away_when_the_clock_is_set_back(self) -> None:
        self.loop.run_step()
        self.set_back()
        self.happen('y')
        self.broker.error = DOWN
        with self.assertLogs('ironic_ownership.engine', 'WARNING'):
            self.loop.run_step()
        # Meanwhile the clock goes on.
        self.run_sql(
            "UPDATE events SET at = at - 600 WHERE to_host = 'y'",
            'UPDATE outbox SET position = position - 600',
            'UPDATE outbox SET sender_until = sender_until - 600',
        )
        self.broker.error = None
        self.loop.run_step()
        self.assertEqual(['y'], self.broker.sent)

    def test_one_of_two_sends_until_it_stops(self) -> None:
        other = self.make('b')
        self.loop.run_step()
        self.happen('x')
        self.assertEqual(notification_loop.LEASE / 2, other.run_step())
        self.loop.run_step()
        other.run_step()
        self.assertEqual(['x'], self.broker.sent)
        self.assertFalse(self.condition(other).fails)
        self.loop.stop()
        self.loop.run()
        self.happen('y')
        other.run_step()
        self.assertEqual('y', self.broker.sent[-1])

    def test_broker_that_is_away_loses_nothing_and_is_named(self) -> None:
        self.loop.run_step()
        self.broker.error = DOWN
        self.happen('x', 'y')
        with self.assertLogs('ironic_ownership.engine', 'WARNING') as logs:
            pauses = [self.loop.run_step() for _ in range(9)]
        self.assertEqual(1, len(logs.records))
        self.assertEqual(sorted(pauses), pauses)
        self.assertEqual(notification_loop.LONGEST_PAUSE, pauses[-1])
        found = self.condition(self.loop)
        self.assertEqual('notifications_unavailable', found.code)
        self.assertIn('the message broker is down', found.error)
        self.broker.error = None
        self.loop.run_step()
        self.assertEqual(['x', 'y'], self.broker.sent)
        self.assertFalse(self.condition(self.loop).fails)

    def test_another_service_sends_when_one_cannot(self) -> None:
        """The condition of the first one ends then, and not before."""
        other = self.make('b')
        self.loop.run_step()
        self.broker.error = DOWN
        self.happen('x')
        for _ in range(notification_loop.PATIENCE):
            self.assertLess(self.loop.run_step(), notification_loop.LEASE)
        other.run_step()
        self.assertTrue(self.condition(other).fails)
        self.loop.run_step()
        self.assertTrue(self.condition(self.loop).fails)
        self.broker.error = None
        other.run_step()
        self.assertEqual(['x'], self.broker.sent)
        self.loop.run_step()
        self.assertFalse(self.condition(self.loop).fails)

    def test_unavailable_records_are_a_condition_too(self) -> None:
        down = exceptions.RecordsUnavailableError('database is down')
        for name in ('claim', 'yield_turn'):
            setattr(self.loop.outbox, name, mock.Mock(side_effect=down))
        self.loop.run_step()
        self.assertEqual('records_unavailable', self.condition(self.loop).code)
        self.loop.stop()
        self.loop.run()

    def test_stop_interrupts_a_long_list(self) -> None:
        self.loop.run_step()
        self.happen('x', 'y')
        self.broker.meanwhile = self.loop.stop
        self.loop.run_step()
        self.assertEqual(['x'], self.broker.sent)

    def test_hanging_broker_is_busy(self) -> None:
        self.loop.run_step()
        self.happen('x')
        self.assertIsNone(self.loop.calls.longest())
        sending, answered = threading.Event(), threading.Event()
        self.broker.meanwhile = lambda: (sending.set(), answered.wait(60))
        thread = threading.Thread(target=self.loop.step, daemon=True)
        thread.start()
        self.assertTrue(sending.wait(60))
        self.clock.elapse(7)
        self.assertEqual(
            ('the message broker', 7.0), self.loop.calls.longest()
        )
        answered.set()
        thread.join(60)
        self.assertIsNone(self.loop.calls.longest())
