"""Laws of the capability ``WATCH``: the store notifies of changes."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import ClassVar

from ironic_ownership.contracts import backend, exceptions
from ironic_ownership_plugin_kit import backend_case

SETTINGS = backend_case.SETTINGS

_OFTEN = 50


class ChangeContract(backend_case.BackendCase):
    """A change of the members ends a wait.

    ``moment`` is how long a test waits where nothing should happen, and for
    another thread to begin its wait; in seconds.
    """

    moment: ClassVar[float] = 0.2

    def test_capability_is_declared(self) -> None:
        self.assertIn(backend.Capability.WATCH, self.build().capabilities)

    def test_wait_without_a_change_ends_with_false(self) -> None:
        self.joined('host2', 'two')
        self.quiet()

    def test_join_ends_a_wait(self) -> None:
        self.check_notified(lambda: self.joined('host2', 'two'))

    def test_join_of_another_process_of_a_host_ends_a_wait(self) -> None:
        self.joined('host2', 'two')
        self.check_notified(lambda: self.joined('host2', 'three'))

    def test_leaving_ends_a_wait(self) -> None:
        member = self.joined('host2', 'two')
        self.check_notified(member.leave)

    def test_expiry_ends_a_wait(self) -> None:
        self.joined('host2', 'two')
        self.check_notified(lambda: self.elapse(self.ttl + 1))

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

        self.check_notified(change, watcher)

    @property
    def longer(self) -> float:
        """Seconds beyond the test's patience, for a wait that must end."""
        return 2 * self.patience

    def quiet(self) -> backend.MembershipBackend:
        """Build an instance that has been notified of all earlier changes."""
        watcher = self.build()
        watcher.view()

        def wait() -> bool:
            return watcher.watch(self.moment)

        self.assertTrue(
            any(not self.answered(wait) for _ in range(_OFTEN)),
            'notified of changes again and again, without any',
        )
        return watcher

    def check_notified(
        self,
        change: Callable[[], object],
        watcher: backend.MembershipBackend | None = None,
    ) -> None:
        """Have an instance wait, change the members, check the wait ends."""
        watching = watcher or self.quiet()
        changing, notified = threading.Event(), threading.Event()
        ended = threading.Event()
        self.addCleanup(ended.set)

        def wait() -> None:
            # A late or needless notification is no fault.
            while not ended.is_set():
                changed = self.answered(lambda: watching.watch(self.longer))
                if changed and changing.is_set():
                    notified.set()
                    return

        threading.Thread(target=wait, daemon=True).start()
        self.let_wait()
        changing.set()
        change()
        self.assertTrue(
            self.wait_for(notified, self.patience), 'not notified of a change'
        )

    def let_wait(self) -> None:
        """Give another thread time to begin its wait.

        Should it take longer, the law of changes between two calls is tested.
        """
        time.sleep(self.moment)


class WatchContract(ChangeContract):
    """The same, also after an outage."""

    def test_wait_during_an_outage_ends_in_time(self) -> None:
        watcher = self.quiet()
        self.interrupted()
        with contextlib.suppress(exceptions.BackendUnavailableError):
            self.in_time(lambda: watcher.watch(self.moment), bound=self.moment)

    def test_changes_are_reported_again_after_an_outage(self) -> None:
        watcher = self.quiet()
        self.interrupted()
        self.resume()
        self.answered(watcher.view)
        other = self.build()
        self.check_notified(
            lambda: self.answered(
                lambda: other.join('host2', 'two', SETTINGS)
            ),
            watcher,
        )
