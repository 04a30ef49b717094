"""Events of an observer, and the laws of its failure detector.

hypothesis draws views, beats, joins and time. The tests evaluate the laws
from the whole history, and not from any state.
"""

from __future__ import annotations

import collections
import unittest
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model
from ironic_ownership.engine import conditions
from ironic_ownership.engine.membership import failure_detector

TTL = 20.0


class Observer:
    """A failure detector with a clock.

    :ivar joins: of the others, by host.
    :ivar beats: times of its own beats since it joined.
    :ivar polls: times of the requests since then, and the hosts found.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.joins = collections.Counter[str]()
        self.detector = failure_detector.FailureDetector(TTL)
        self.rejoin()
        self.beat()

    def rejoin(self) -> None:
        self.joined = self.now
        self.beats: list[float] = []
        self.polls: list[tuple[float, Iterable[str]]] = []
        self.detector.joined(self.now)

    def elapse(self, seconds: float) -> None:
        self.now += seconds

    def beat(self) -> None:
        self.now += 0.1
        self.beats.append(self.now)
        self.detector.beat_accepted(self.now, self.now + 0.1)
        self.now += 0.1

    def observe(self, *hosts: str) -> frozenset[str]:
        self.polls.append((self.now, hosts))
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


class TestFailureDetector(unittest.TestCase):
    def setUp(self) -> None:
        self.observer = Observer()

    def test_missing_host_is_dead_after_a_beat_and_a_poll(self) -> None:
        observer = self.observer
        observer.settle('h1', 'h2', 'h3')
        self.assertEqual(frozenset(), observer.observe('h2', 'h3'))
        self.assertTrue(observer.detector.wants_beat)
        missed = observer.now
        observer.beat()
        self.assertFalse(observer.is_dead('h1'))
        self.assertFalse(observer.detector.wants_beat)
        observer.elapse(0.7)
        self.assertEqual({'h1'}, observer.observe('h2', 'h3'))
        self.assertTrue(observer.is_dead('h1'))
        age = TTL + observer.now - missed
        # The cause stays, and the death is returned once.
        observer.elapse(5)
        self.assertEqual(frozenset(), observer.observe('h2', 'h3'))
        for host, cause in (
            ('h1', f'last heartbeat at least {age:.1f} s ago'),
            (
                'h9',
                'no heartbeat of its active process since the observer joined',
            ),
        ):
            self.assertEqual(
                cause, observer.detector.liveness.cause_of_death(host)
            )

    def test_beat_and_view_that_overlap_prove_nothing(self) -> None:
        for name, began, ended, requested in (
            ('the beat began before the miss', -1.0, 1.0, 2.0),
            ('the view was requested before its end', 1.0, 3.0, 2.0),
        ):
            with self.subTest(name):
                observer = Observer()
                observer.settle('h1', 'h2', 'h3')
                observer.elapse(1)
                observer.observe('h2', 'h3')
                now = observer.now
                observer.detector.beat_accepted(now + began, now + ended)
                observer.elapse(requested)
                observer.observe('h2', 'h3')
                self.assertFalse(observer.is_dead('h1'))

    def test_observer_that_just_joined_declares_no_host_dead(self) -> None:
        """Nor one that has joined again."""
        for _ in range(2):
            self.observer.observe('h1')
            self.observer.elapse(TTL / 2)
            for _ in range(2):
                self.observer.observe()
                self.observer.beat()
            for host in ('h1', 'never seen'):
                self.assertFalse(self.observer.is_dead(host))
            self.assertFalse(self.observer.detector.wants_beat)
            self.observer.settle()
            self.assertTrue(self.observer.is_dead('h1'))
            self.observer.rejoin()
            self.assertFalse(self.observer.is_dead('h1'))

    def test_loss_of_most_hosts_is_a_restart(self) -> None:
        for name, hosts, again, seen, is_restart in (
            ('most', ('h1', 'h2', 'h3'), (), ('h3',), True),
            (
                'others joined again since',
                ('h1', 'h2', 'h3'),
                ('h1', 'h2'),
                ('h1', 'h2'),
                True,
            ),
            (
                'one joined again alone',
                ('h1', 'h2', 'h3', 'h4'),
                ('h1',),
                ('h1', 'h2', 'h4'),
                False,
            ),
            ('half', ('h1', 'h2', 'h3', 'h4'), (), ('h3', 'h4'), False),
            ('the only other one', ('h1',), (), (), False),
        ):
            with self.subTest(name):
                observer = Observer()
                observer.settle(*hosts)
                observer.joins.update(again)
                lost = {*hosts} - {*seen}
                observer.observe(*seen)
                observer.beat()
                died = observer.observe(*seen)
                self.assertEqual(set() if is_restart else lost, died)
                self.assertEqual(not is_restart, observer.is_dead('unseen'))
                observer.elapse(TTL + 1)
                observer.beat()
                observer.observe(*seen)
                self.assertEqual(lost, observer.detector.liveness.dead)

    def test_restart_of_all_does_not_revive_the_dead(self) -> None:
        self.observer.settle('h1', 'h2', 'h3', 'h4')
        self.observer.observe('h2', 'h3', 'h4')
        self.observer.beat()
        self.observer.observe('h2', 'h3', 'h4')
        self.observer.observe()
        self.assertTrue(self.observer.is_dead('h1'))


_HOSTS = st.frozensets(st.sampled_from(('h1', 'h2', 'h3', 'h4')))
_STEP = st.one_of(
    st.tuples(st.just('observe'), _HOSTS),
    st.tuples(st.just('observe'), _HOSTS),
    st.tuples(st.just('beat'), st.just(())),
    st.tuples(
        st.just('elapse'), st.tuples(st.sampled_from((0.5, 5.0, 19.0, 21.0)))
    ),
    st.tuples(st.just('rejoin'), st.just(())),
)


class TestLaws(unittest.TestCase):
    @given(st.lists(_STEP, max_size=30))
    def test_dead_host_was_missed_long_enough(self, steps) -> None:
        observer = Observer()
        for kind, values in steps:
            found = getattr(observer, kind)(*values)
            if kind == 'observe':
                self.check(observer, found)

    def check(self, observer: Observer, died: Iterable[str]) -> None:
        at, present = observer.polls[-1]
        for host in present:
            self.assertFalse(observer.is_dead(host))
        for host in died:
            self.assertGreaterEqual(at, observer.joined + TTL)
            noticed = next(
                earlier
                for (earlier, _), (_, before) in zip(
                    observer.polls[::-1],
                    observer.polls[-2::-1],
                    strict=False,
                )
                if host in before
            )
            self.assertTrue(any(noticed < b < at for b in observer.beats))
            for when, hosts in observer.polls:
                if when >= noticed:
                    self.assertNotIn(host, hosts)

    @given(st.lists(_STEP, max_size=30), _HOSTS)
    def test_host_that_stays_away_is_dead_in_the_end(
        self, steps, left
    ) -> None:
        observer = Observer()
        for kind, values in steps:
            getattr(observer, kind)(*values)
        observer.observe(*left)
        observer.elapse(TTL + 1)
        observer.beat()
        observer.observe(*left)
        for host in ('h1', 'h2', 'h3', 'h4', 'never seen'):
            self.assertEqual(host not in left, observer.is_dead(host))


class TestLostCommits(unittest.TestCase):
    def test_smaller_revision_is_a_loss_and_is_found_once(self) -> None:
        detector = failure_detector.LostCommits()
        for revisions, lost in (
            ({'one': 5, 'two': 7}, {}),
            ({'one': 6, 'two': 4}, {'two': 3}),
            ({'one': 6, 'two': 4}, {}),
            # A service that comes or goes is no loss.
            ({'two': 4, 'three': 1}, {}),
            ({'one': 1, 'three': 1}, {}),
        ):
            rows = {
                host: model.Service(host, revision=revision)
                for host, revision in revisions.items()
            }
            self.assertEqual(lost, detector.observe(rows))


class TestClockSkew(unittest.TestCase):
    def test_skew_is_reported_once_until_it_changes_or_ends(self) -> None:
        found = conditions.Conditions()
        detector = failure_detector.ClockSkew('host2', 1.0, found)
        with self.assertLogs(conditions.__name__, 'INFO') as logs:
            for ahead, text in (
                ({'host1': 1.0}, ''),
                ({'host1': 30.2, 'host3': 0.5}, 'host1 is 30.2 s ahead'),
                ({'host1': 29.9}, 'that of host1 is 30.2 s ahead of that of'),
                ({'host1': 5.0}, '5.0 s ahead of that of host2'),
                ({}, ''),
            ):
                detector.observe(model.View(ahead=ahead))
                standing = found.standing.get('clock_skew', '')
                self.assertIn(text, standing)
                self.assertEqual(bool(text), bool(standing))
        for word, line in zip(
            ('30.2 s', '5.0 s', 'agree again'), logs.output, strict=True
        ):
            self.assertIn(word, line)
