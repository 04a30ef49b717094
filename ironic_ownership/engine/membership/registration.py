"""The active place of a host: who has it on record, and under which epoch.

The records may be slow or down while the membership is well, and the other
way round: so they are asked aside, and the answer is taken when it is there.
The heartbeat never waits for it.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import uuid
from collections.abc import Callable

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import Records

Aside = Callable[[Callable[[], None]], None]
"""Has something done, now or in another thread."""

_Answer = Callable[[], None]


def at_once(work: Callable[[], None]) -> None:
    """Do something here and now."""
    work()


def _new_incarnation() -> str:
    return uuid.uuid4().hex


@dataclasses.dataclass(frozen=True)
class Identity:
    """Who is a member, and what it tells the others.

    :param incarnation: of this process, for as long as it runs.
    """

    host: str
    settings: model.MemberSettings
    incarnation: str = dataclasses.field(default_factory=_new_incarnation)


class _Errand:
    """One question to the records.

    :param losses: how often the place had been lost when it was asked.
    """

    def __init__(self, work: Callable[[], _Answer], losses: int) -> None:
        self.losses = losses
        self.done = threading.Event()
        self._work = work
        self._answer: _Answer | None = None
        self._failure: Exception | None = None

    def run(self) -> None:
        """Ask. Any thread."""
        try:
            self._answer = self._work()
        except Exception as exc:  # noqa: BLE001 - raised where it is taken
            self._failure = exc
        self.done.set()

    def take(self) -> None:
        """Act on the answer.

        :raises Exception: whatever the question raised.
        """
        if self._failure is not None:
            raise self._failure
        if self._answer is not None:
            self._answer()


class Registration:
    """What this process is to its host.

    Threading: the heartbeat's thread; what has no argument may be read by
    any.

    :ivar identity: what is registered next.
    :ivar epoch: under which this process is active, as far as it knows.
    :ivar standby_for: incarnation of the process that is active instead.
    :ivar registered_with: the settings on record.
    """

    def __init__(
        self,
        identity: Identity,
        records: Records,
        aside: Aside = at_once,
    ) -> None:
        self.identity = identity
        self.epoch: int | None = None
        self.standby_for: str | None = None
        self.registered_with: model.MemberSettings | None = None
        self._records = records
        self._aside = aside
        self._losses = 0
        self._errand: _Errand | None = None

    @property
    def is_asking(self) -> bool:
        """Whether an answer of the records is still to come."""
        return self._errand is not None

    def lose(self) -> None:
        """Forget the epoch, and whatever the records still answer to it."""
        self.epoch = None
        self._losses += 1

    def attend(self, siblings: frozenset[str]) -> None:
        """Ask what has to be asked, and act on what was answered.

        :param siblings: other incarnations of the host that may be alive.
        :raises FencedError: if the epoch is no longer the current one.
        :raises RecordsError: if the records do not answer.
        """
        if self._errand is None:
            work = self._question(siblings)
            if work is None:
                return
            self._errand = _Errand(work, self._losses)
            self._aside(self._errand.run)
        errand = self._errand
        if not errand.done.is_set():
            return
        self._errand = None
        if errand.losses == self._losses:
            errand.take()

    def retire(self, grace: float) -> None:
        """Give the place up, if this process has it.

        :param grace: seconds for which the service is expected back.
        :raises RecordsError: if that could not be written.
        """
        epoch, self.epoch = self.epoch, None
        if epoch is not None:
            self._records.retire(self.identity.host, epoch, grace=grace)

    def _question(
        self, siblings: frozenset[str]
    ) -> Callable[[], _Answer] | None:
        if self.epoch is None:
            return functools.partial(self._register, self.identity, siblings)
        if self.registered_with != self.identity.settings:
            return functools.partial(
                self._advertise, self.epoch, self.identity
            )
        if siblings:
            return functools.partial(self._compare, self.epoch)
        return None

    def _register(self, who: Identity, siblings: frozenset[str]) -> _Answer:
        try:
            epoch = self._records.register(
                who.host,
                who.settings,
                incarnation=who.incarnation,
                alive=siblings,
            )
        except exceptions.StandbyError as exc:
            return functools.partial(self._stand_by, exc.active)
        return functools.partial(self._begin, epoch, who.settings)

    def _stand_by(self, active: str) -> None:
        self.standby_for = active

    def _begin(self, epoch: int, settings: model.MemberSettings) -> None:
        self.epoch, self.registered_with = epoch, settings
        self.standby_for = None

    def _advertise(self, epoch: int, who: Identity) -> _Answer:
        self._records.advertise(who.host, epoch, who.settings)
        return functools.partial(self._begin, epoch, who.settings)

    def _compare(self, epoch: int) -> _Answer:
        """See whether another process was made active meanwhile."""
        rows = self._records.services()
        row = next((r for r in rows if r.host == self.identity.host), None)
        superseded = row is None or (
            not row.forced_down and (row.fenced or row.epoch != epoch)
        )
        return self.lose if superseded else _nothing


def standing_by(host: str, active: str) -> tuple[str, str]:
    """Return what is said to whoever wants a standby to act, and a hint."""
    hint = (
        'It acts once that one ends, or hands over: ironic-ownership '
        f'service failover {host}'
    )
    return f'this process stands by for incarnation {active} of {host}', hint


def _nothing() -> None:
    """Do nothing about an answer."""
