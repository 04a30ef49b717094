"""The nemesis finds requests that Ironic should have refused."""

from __future__ import annotations

import testtools

from benchmarks.nemesis.admissions import Admissions
from benchmarks.nemesis.answers import Request
from benchmarks.nemesis.observer import Event, Service, Snapshot


def back(
    at: float, kind: str, node: str | None = None, target: str = 'ha'
) -> Event:
    return Event(
        *(1, at, 'operator', kind, node, None, target, None, None, None)
    )


class AdmissionsTest(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.admissions = Admissions()

    def see(self, at: float, *, owner: str = 'ha', **more: int) -> None:
        state = {'epoch': 3, 'fenced': False, 'forced_down': False, **more}
        service = Service('ha', disabled=False, **state)  # type: ignore
        seen = Snapshot(at, {'ha': service}, {'n': owner})
        self.admissions.take(seen, at + 0.1)

    def wrong(
        self,
        sent: float,
        *events: Event,
        is_admitted: bool = True,
        epoch: int = 3,
    ) -> list[str]:
        request = Request(
            'ha_1', 'ha', sent, sent + 2, epoch, 'n', is_admitted
        )
        found = self.admissions.wrong([request], events)
        return [reason for _, reason in found]

    def test_owner_is_admitted(self) -> None:
        self.see(1)
        self.assertEqual([], self.wrong(2))
        self.assertEqual((1, 0), self.counts())

    def counts(self) -> tuple[int, int]:
        return self.admissions.checked, self.admissions.ended

    def test_every_end_of_a_right_is_found(self) -> None:
        for number, (state, reason) in enumerate(
            (
                ({'epoch': 4}, 'the epoch was 4'),
                ({'fenced': True}, 'the epoch was fenced'),
                ({'forced_down': True}, 'the service was forced down'),
                ({'owner': 'hb'}, 'the owner was hb'),
            )
        ):
            at = 10.0 * number
            self.see(at, **state)  # type: ignore
            (found,) = self.wrong(at + 1)
            self.assertEqual(f'{reason}, 0.90 s before', found)
            self.assertEqual([], self.wrong(at + 1, is_admitted=False))
        self.assertEqual((4, 8), self.counts())

    def test_request_that_was_sent_before_the_end_was_seen_is_right(
        self,
    ) -> None:
        self.see(1)
        self.see(5, epoch=4)
        self.assertEqual([], self.wrong(5.05))
        self.assertEqual(1, len(self.wrong(5.15)))

    def test_right_that_may_have_been_given_back_is_unknown(self) -> None:
        self.see(1, owner='hb')
        moved = back(3.5, 'node_moved', 'n')
        self.assertEqual([], self.wrong(2, moved))
        self.assertEqual(1, self.admissions.unknown)
        for other in (
            back(0.5, 'node_moved', 'n'),
            back(4.5, 'node_moved', 'n'),
            back(3.5, 'node_moved', 'other'),
            back(3.5, 'service_changed', target='hb'),
        ):
            self.assertEqual(1, len(self.wrong(2, other)), other.kind)

    def test_earlier_epoch_never_comes_back(self) -> None:
        self.see(1)
        registered = back(1.5, 'service_registered')
        self.assertEqual(1, len(self.wrong(2, registered, epoch=2)))
        self.assertEqual([], self.wrong(2, registered, epoch=4))
