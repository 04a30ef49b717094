"""Worker: what a service does again and again, in a thread of its own."""

from __future__ import annotations

import abc
import threading


class Worker(abc.ABC):
    """A loop: each step does what is due, and says when it is due again.

    Threading: :meth:`run` in a thread of its own; :meth:`wake` and
    :meth:`stop` from any.

    :cvar first_due: seconds until the first step; ``None`` to wait until it
        is woken.
    """

    first_due: float | None = None

    def __post_init__(self) -> None:
        self._stopping = threading.Event()
        self._wanted = threading.Event()

    @abc.abstractmethod
    def step(self) -> float | None:
        """Do what is due.

        :returns: seconds until it is due again; ``None`` if it waits until it
            is woken.
        """

    def wake(self) -> None:
        """Make a step due now."""
        self._wanted.set()

    def stop(self) -> None:
        """Make :meth:`run` return soon."""
        self._stopping.set()
        self._wanted.set()

    def run(self) -> None:
        """Do what is due, until :meth:`stop` is called."""
        due_in = self.first_due
        while not self._stopping.is_set():
            self._wanted.wait(due_in)
            self._wanted.clear()
            if not self._stopping.is_set():
                due_in = self.step()


def back_off(failures: int, longest: float) -> float:
    """Return the seconds to wait after so many failures in a row."""
    return min(longest, 2.0 ** min(failures - 1, 9))
