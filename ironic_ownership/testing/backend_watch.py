"""A store that tells of changes by itself: the capability ``WATCH``."""

# ruff: noqa: D102 - the name of a test states the law

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from ironic_ownership.contracts import backend, capabilities, exceptions
from ironic_ownership.testing import backend_case

SETTINGS = backend_case.SETTINGS

_SHORT = 0.2
_OFTEN = 50


class WatchContract(backend_case.BackendCase):
    """A change of the members ends a wait."""

    def test_capability_is_declared(self) -> None:
        self.assertIn(capabilities.Capability.WATCH, self.build().capabilities)

    def test_wait_without_a_change_ends_with_false(self) -> None:
        self.joined('host2', 'two')
        self.quiet()

    def test_join_ends_a_wait(self) -> None:
        self.check_told(lambda: self.joined('host2', 'two'))

    def test_join_of_another_process_of_a_host_ends_a_wait(self) -> None:
        self.joined('host2', 'two')
        self.check_told(lambda: self.joined('host2', 'three'))

    def test_leaving_ends_a_wait(self) -> None:
        member = self.joined('host2', 'two')
        self.check_told(member.leave)

    def test_expiry_ends_a_wait(self) -> None:
        self.joined('host2', 'two')
        self.check_told(lambda: self.elapse(self.ttl + 1))

    def test_change_between_two_calls_ends_the_next_wait(self) -> None:
        watcher = self.quiet()
        self.joined('host2', 'two')
        self.assertTrue(
            self.in_time(lambda: watcher.watch(self.longer), bound=0)
        )
        self.assertIn('host2', watcher.view().hosts)

    def test_view_answers_while_a_watch_waits(self) -> None:
        watcher = self.quiet()

        def change() -> None:
            self.in_time(watcher.view, watcher.call_timeout)
            self.joined('host2', 'two')
            self.in_time(watcher.view, watcher.call_timeout)

        self.check_told(change, watcher)

    def test_wait_during_an_outage_ends_in_time(self) -> None:
        watcher = self.quiet()
        self.interrupted()
        with contextlib.suppress(exceptions.BackendUnavailableError):
            self.in_time(lambda: watcher.watch(_SHORT), bound=_SHORT)

    def test_changes_are_told_again_after_an_outage(self) -> None:
        watcher = self.quiet()
        self.interrupted()
        self.resume()
        self.answered(watcher.view)
        other = self.build()
        self.check_told(
            lambda: self.answered(
                lambda: other.join('host2', 'two', SETTINGS)
            ),
            watcher,
        )

    @property
    def longer(self) -> float:
        """Seconds beyond the test's patience: for whom nobody tells."""
        return 2 * self.patience

    def quiet(self) -> backend.MembershipBackend:
        """Build an instance that was told of all that was before."""
        watcher = self.build()
        watcher.view()
        self.assertTrue(
            any(not watcher.watch(_SHORT) for _ in range(_OFTEN)),
            'told of changes without end, and there are none',
        )
        return watcher

    def check_told(
        self,
        change: Callable[[], object],
        watcher: backend.MembershipBackend | None = None,
    ) -> None:
        """Have an instance wait, change the members, see the wait end."""
        watching = watcher or self.quiet()
        changing, told = threading.Event(), threading.Event()

        def wait() -> None:
            # Being told of what was before, or of nothing, is no mistake.
            while not (
                self.answered(lambda: watching.watch(self.longer))
                and changing.is_set()
            ):
                pass
            told.set()

        threading.Thread(target=wait, daemon=True).start()
        # Enough for it to wait; should it not, the next law is tested.
        told.wait(_SHORT)
        changing.set()
        change()
        self.assertTrue(told.wait(self.patience), 'nobody was told')
