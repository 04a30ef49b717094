"""Events of an observer, and the laws of its failure detector.

hypothesis draws views, beats, joins and time. The tests evaluate the laws
from the whole history, and not from any state.
"""

from __future__ import annotations

import collections
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.engine import conditions
from ironic_ownership.engine.membership import failure_detector

TTL = 20.0


class Observer:
    """A failure detector with a clock.

    :ivar joins: of the others, by host.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.joins = collections.Counter[str]()
        self.detector = failure_detector.FailureDetector(TTL)
        self.detector.joined(self.now)
        self.beat()

    def elapse(self, seconds: float) -> None:
        self.now += seconds

    def beat(self) -> None:
        self.now += 0.1
        self.detector.beat_accepted(self.now, self.now + 0.1)
        self.now += 0.1

    def observe(self, *hosts: str) -> frozenset[str]:
        self.now += 0.1
        entries = {(host, self.joins[host]) for host in hosts}
        return self.detector.observe(entries, self.now - 0.1, self.now)

    def settle(self, *hosts: str) -> None:
        self.observe(*hosts)
        self.elapse(TTL)
        self.beat()
        self.observe(*hosts)

    def is_dead(self, host: str) -> bool:
        return self.detector.liveness.is_dead(host)


class TestOneHost(unittest.TestCase):
    def setUp(self) -> None:
        self.observer = Observer()
        self.observer.settle('h1', 'h2', 'h3')

    def test_missing_host_is_dead_after_a_beat_and_a_poll(self) -> None:
        self.assertEqual(frozenset(), self.observer.observe('h2', 'h3'))
        self.assertFalse(self.observer.is_dead('h1'))
        self.assertTrue(self.observer.detector.wants_beat)
        self.observer.beat()
        self.assertFalse(self.observer.is_dead('h1'))
        self.assertFalse(self.observer.detector.wants_beat)
        self.assertEqual({'h1'}, self.observer.observe('h2', 'h3'))
        self.assertTrue(self.observer.is_dead('h1'))

    def test_cause_of_death_is_the_age_of_the_last_heartbeat(self) -> None:
        self.observer.observe('h2', 'h3')
        missed = self.observer.now
        self.observer.beat()
        self.observer.elapse(0.7)
        self.observer.observe('h2', 'h3')
        age = TTL + self.observer.now - missed
        for _ in range(2):
            self.assertEqual(
                f'last heartbeat at least {age:.1f} s ago',
                self.observer.detector.liveness.cause_of_death('h1'),
            )
            self.observer.elapse(5)
            self.observer.observe('h2', 'h3')
        self.assertEqual(
            'no heartbeat of its active process since the observer joined',
            self.observer.detector.liveness.cause_of_death('h9'),
        )

    def test_death_is_returned_once(self) -> None:
        for _ in range(2):
            self.observer.observe('h2', 'h3')
            self.observer.beat()
        self.assertEqual(frozenset(), self.observer.observe('h2', 'h3'))
        self.assertTrue(self.observer.is_dead('h1'))

    def test_polls_without_a_beat_prove_nothing(self) -> None:
        for _ in range(5):
            self.observer.observe('h2', 'h3')
        self.assertFalse(self.observer.is_dead('h1'))

    def test_beat_that_began_before_proves_nothing(self) -> None:
        began = self.observer.now
        self.observer.elapse(1)
        self.observer.observe('h2', 'h3')
        self.observer.detector.beat_accepted(began, self.observer.now + 1)
        self.observer.elapse(2)
        self.observer.observe('h2', 'h3')
        self.assertFalse(self.observer.is_dead('h1'))

    def test_view_requested_before_the_beat_proves_nothing(self) -> None:
        self.observer.observe('h2', 'h3')
        now = self.observer.now
        self.observer.detector.beat_accepted(now + 1, now + 3)
        entries = {('h2', 0), ('h3', 0)}
        self.observer.detector.observe(entries, now + 2, now + 4)
        self.assertFalse(self.observer.is_dead('h1'))

    def test_host_that_is_back_is_alive(self) -> None:
        self.observer.observe('h2', 'h3')
        self.observer.beat()
        self.observer.observe('h1', 'h2', 'h3')
        self.assertFalse(self.observer.is_dead('h1'))
        self.observer.observe('h2', 'h3')
        self.assertFalse(self.observer.is_dead('h1'))

    def test_dead_host_can_come_back(self) -> None:
        self.observer.observe('h2', 'h3')
        self.observer.beat()
        self.observer.observe('h2', 'h3')
        self.observer.observe('h1', 'h2', 'h3')
        self.assertFalse(self.observer.is_dead('h1'))

    def test_one_of_two_can_die(self) -> None:
        two = Observer()
        two.settle('h1')
        two.observe()
        two.beat()
        self.assertEqual({'h1'}, two.observe())


class TestSettling(unittest.TestCase):
    def test_observer_that_just_joined_declares_no_host_dead(self) -> None:
        observer = Observer()
        observer.observe('h1')
        observer.elapse(TTL / 2)
        observer.observe()
        observer.beat()
        observer.observe()
        self.assertFalse(observer.is_dead('h1'))
        self.assertFalse(observer.is_dead('never seen'))
        self.assertFalse(observer.detector.wants_beat)

    def test_host_that_was_never_seen_is_dead_once_settled(self) -> None:
        observer = Observer()
        observer.settle('h1')
        self.assertTrue(observer.is_dead('never seen'))
        self.assertFalse(observer.is_dead('h1'))

    def test_rejoining_resets_it(self) -> None:
        observer = Observer()
        observer.settle('h1')
        observer.detector.joined(observer.now)
        for _ in range(3):
            observer.beat()
            observer.observe()
        self.assertFalse(observer.is_dead('h1'))
        self.assertFalse(observer.is_dead('never seen'))
        observer.elapse(TTL)
        observer.observe()
        self.assertTrue(observer.is_dead('h1'))

    def test_rejoining_opens_every_question_again(self) -> None:
        observer = Observer()
        observer.settle('h1')
        observer.observe()
        observer.beat()
        observer.observe()
        self.assertTrue(observer.is_dead('h1'))
        observer.detector.joined(observer.now)
        self.assertFalse(observer.is_dead('h1'))
        self.assertFalse(observer.is_dead('never seen'))
        observer.observe()
        self.assertFalse(observer.is_dead('h1'))

    def test_loss_of_all_hosts_is_a_restart(self) -> None:
        observer = Observer()
        observer.settle('h1', 'h2', 'h3')
        for _ in range(3):
            observer.observe('h3')
            observer.beat()
        for host in ('h1', 'h2', 'never seen'):
            self.assertFalse(observer.is_dead(host))
        observer.observe('h1', 'h3')
        observer.elapse(TTL + 1)
        observer.beat()
        self.assertEqual({'h2'}, observer.observe('h1', 'h3'))

    def test_hosts_that_joined_again_since_were_lost_too(self) -> None:
        observer = Observer()
        observer.settle('h1', 'h2', 'h3')
        observer.joins.update(('h1', 'h2'))
        for _ in range(3):
            observer.observe('h1', 'h2')
            observer.beat()
        self.assertFalse(observer.is_dead('h3'))
        observer.elapse(TTL + 1)
        observer.beat()
        self.assertEqual({'h3'}, observer.observe('h1', 'h2'))

    def test_host_that_joined_again_alone_is_no_restart(self) -> None:
        observer = Observer()
        observer.settle('h1', 'h2', 'h3', 'h4')
        observer.joins.update(('h1',))
        observer.observe('h1', 'h2', 'h4')
        observer.beat()
        self.assertEqual({'h3'}, observer.observe('h1', 'h2', 'h4'))

    def test_loss_of_half_the_hosts_is_no_restart(self) -> None:
        observer = Observer()
        observer.settle('h1', 'h2', 'h3', 'h4')
        observer.observe('h3', 'h4')
        observer.beat()
        self.assertEqual({'h1', 'h2'}, observer.observe('h3', 'h4'))

    def test_restart_of_all_does_not_revive_the_dead(self) -> None:
        observer = Observer()
        observer.settle('h1', 'h2', 'h3', 'h4')
        observer.observe('h2', 'h3', 'h4')
        observer.beat()
        observer.observe('h2', 'h3', 'h4')
        observer.observe()
        self.assertTrue(observer.is_dead('h1'))


_HOSTS = st.frozensets(st.sampled_from(('h1', 'h2', 'h3', 'h4')))
_STEP = st.one_of(
    st.tuples(st.just('observe'), _HOSTS),
    st.tuples(st.just('observe'), _HOSTS),
    st.tuples(st.just('beat'), st.none()),
    st.tuples(st.just('elapse'), st.sampled_from((0.5, 5.0, 19.0, 21.0))),
    st.tuples(st.just('rejoin'), st.none()),
)


class TestLaws(unittest.TestCase):
    @given(st.lists(_STEP, max_size=30))
    def test_dead_host_was_missed_long_enough(self, steps) -> None:
        observer = Observer()
        joined, beats, polls = observer.now, [], []
        for kind, value in steps:
            if kind == 'elapse':
                observer.elapse(value)
            elif kind == 'beat':
                beats.append(observer.now + 0.1)
                observer.beat()
            elif kind == 'rejoin':
                joined, beats, polls = observer.now, [], []
                observer.detector.joined(observer.now)
            else:
                died = observer.observe(*value)
                polls.append((observer.now - 0.1, value))
                self.check(observer, died, joined, beats, polls)

    def check(self, observer, died, joined, beats, polls) -> None:
        at, present = polls[-1]
        for host in present:
            self.assertFalse(observer.is_dead(host))
        for host in died:
            self.assertGreaterEqual(at, joined + TTL)
            noticed = next(
                earlier
                for (earlier, _), (_, before) in zip(
                    polls[::-1], polls[-2::-1], strict=False
                )
                if host in before
            )
            self.assertTrue(any(noticed < beat < at for beat in beats))
            for when, hosts in polls:
                if when >= noticed:
                    self.assertNotIn(host, hosts)

    @given(st.lists(_STEP, max_size=30), _HOSTS)
    def test_host_that_stays_away_is_dead_in_the_end(
        self, steps, left
    ) -> None:
        observer = Observer()
        for kind, value in steps:
            if kind == 'elapse':
                observer.elapse(value)
            elif kind == 'beat':
                observer.beat()
            elif kind == 'rejoin':
                observer.detector.joined(observer.now)
            else:
                observer.observe(*value)
        observer.observe(*left)
        observer.elapse(TTL + 1)
        observer.beat()
        observer.observe(*left)
        for host in ('h1', 'h2', 'h3', 'h4', 'never seen'):
            self.assertEqual(host not in left, observer.is_dead(host))


def rows(**revisions: int) -> dict[str, model.Service]:
    return {
        host: model.Service(host, revision=revision)
        for host, revision in revisions.items()
    }


class TestLostCommits(unittest.TestCase):
    def setUp(self) -> None:
        self.detector = failure_detector.LostCommits()
        self.assertEqual({}, self.detector.observe(rows(one=5, two=7)))

    def test_smaller_revision_is_a_loss_and_is_found_once(self) -> None:
        self.assertEqual({'two': 3}, self.detector.observe(rows(one=6, two=4)))
        self.assertEqual({}, self.detector.observe(rows(one=6, two=4)))

    def test_service_that_comes_or_goes_is_no_loss(self) -> None:
        self.assertEqual({}, self.detector.observe(rows(two=7, three=1)))
        self.assertEqual({}, self.detector.observe(rows(one=1, three=1)))


class TestClockSkew(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.conditions = conditions.Conditions()
        self.detector = failure_detector.ClockSkew(
            'host2', 1.0, self.conditions
        )

    def observe(self, **ahead: float) -> str | None:
        self.detector.observe(model.View(ahead=ahead))
        return self.conditions.standing.get('clock_skew')

    def test_tolerated_skew_is_not_reported(self) -> None:
        with self.assertNoLogs(conditions.__name__, 'WARNING'):
            self.assertIsNone(self.observe(host1=1.0))
        self.assertEqual({}, self.conditions.standing)

    def test_larger_skew_is_reported_once_until_it_changes(self) -> None:
        text = 'that of host1 is 30.2 s ahead of that of host2'
        with self.assertLogs(conditions.__name__, 'WARNING') as logs:
            self.assertIn(text, self.observe(host1=30.2, host3=0.5) or '')
            self.assertIn(text, self.observe(host1=29.9) or '')
        self.assertEqual(1, len(logs.output))
        self.assertIn(text, logs.output[0])
        self.assertIn('5.0 s ahead', self.observe(host1=5.0) or '')

    def test_end_is_logged(self) -> None:
        self.observe(host1=30.2)
        with self.assertLogs(conditions.__name__, 'INFO') as logs:
            self.assertIsNone(self.observe())
        self.assertIn('agree again', logs.output[0])
