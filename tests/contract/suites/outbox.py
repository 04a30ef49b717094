"""The outbox of notifications, in every implementation of the records."""

from __future__ import annotations

from concurrent import futures

from ironic_ownership.contracts import events
from ironic_ownership.contracts.events import EventPosition
from tests.contract.suites import records

LEASE = 600.0
AGE = 3600.0


class OutboxContract(records.RecordsContract):
    """Processes take turns, and read the events in order."""

    def setUp(self) -> None:
        super().setUp()
        self.outbox = self.make_outbox()

    def claim(self, sender: str) -> events.Turn:
        return self.outbox.claim(sender, lease=LEASE, max_age=AGE)

    def test_first_one_begins_with_what_happens_from_now_on(self) -> None:
        turn = self.claim('a')
        self.assertTrue(turn.is_mine)
        self.assertEqual(turn.now, turn.position)
        # The others wait for the turn.
        self.assertFalse(self.claim('b').is_mine)
        self.assertTrue(self.claim('a').is_mine)

    def test_turn_that_is_over_is_free_at_its_position(self) -> None:
        position = self.claim('a').position
        for step, end in (
            (0, lambda at: self.outbox.yield_turn('a')),
            (9, lambda at: self.outbox.advance('a', at, lease=0.0)),
        ):
            position += step
            self.assertTrue(self.claim('a').is_mine)
            end(position)
            self.assert_has(self.claim('b'), is_mine=True, position=position)
            self.assertFalse(self.claim('a').is_mine)
            self.outbox.yield_turn('b')

    def test_only_the_own_turn_is_advanced_or_yielded(self) -> None:
        begun = self.claim('a').position
        self.assertFalse(self.outbox.advance('b', begun + 9, lease=LEASE))
        self.outbox.yield_turn('b')
        self.assert_has(self.claim('b'), is_mine=False, position=begun)
        for _ in range(2):
            # The same again is no loss of the turn.
            moved = self.outbox.advance('a', begun + 9, lease=LEASE)
            self.assertTrue(moved)
        self.assert_has(self.claim('b'), is_mine=False, position=begun + 9)
        # In its second half its sender alone may renew it.
        self.outbox.advance('a', begun + 9, lease=LEASE / 4)
        self.assertFalse(self.claim('b').is_mine)

    def test_what_is_too_old_is_left_out(self) -> None:
        self.claim('a')
        self.outbox.advance('a', 1.0, lease=LEASE)
        for sender in ('a', 'b'):
            turn = self.claim(sender)
            self.assertEqual(turn.now - AGE, turn.position)

    def test_one_of_many_gets_the_first_turn(self) -> None:
        boxes = [self.make_outbox() for _ in range(4)]

        def claim(number: int) -> events.Turn:
            return boxes[number].claim(f'{number}', lease=LEASE, max_age=AGE)

        with futures.ThreadPoolExecutor(len(boxes)) as pool:
            turns = list(pool.map(claim, range(len(boxes))))
        self.assertEqual(1, sum(turn.is_mine for turn in turns))

    def test_events_are_read_page_by_page_oldest_first(self) -> None:
        for number in range(1, 6):
            self.register(f'host{number}')
        read, after = [], None
        while page := self.outbox.read(0.0, after, 2):
            self.assertLessEqual(len(page), 2)
            read += page
            after = EventPosition(page[-1].at, page[-1].id)
        self.assertEqual(list(self.records.events())[::-1], read)
        self.assertEqual(5, len(read))
        since = read[3].at
        self.assertEqual(
            [event for event in read if event.at >= since],
            list(self.outbox.read(since, None, 10)),
        )
