"""Registration of this process as the active one of its host.

The records may be slow or down while the membership works, and the other way
round. So requests to the records run in the background, and their results are
taken when they are there. The heartbeat never waits for them.
"""

from __future__ import annotations

import dataclasses
import functools
import uuid
from collections.abc import Callable
from concurrent import futures

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import Records

Runner = Callable[[Callable[[], None]], None]
"""Runs a function, now or in another thread."""

_Result = Callable[[], None] | None
"""Applies the result of a request, in the heartbeat's thread."""


def run_now(work: Callable[[], None]) -> None:
    """Run a function in the thread of the caller."""
    work()


@dataclasses.dataclass(frozen=True)
class Identity:
    """The identity of a member, and what it advertises.

    :param incarnation: id of this process, for as long as it runs.
    """

    host: str
    settings: model.MemberSettings
    incarnation: str = dataclasses.field(
        default_factory=lambda: uuid.uuid4().hex
    )


@dataclasses.dataclass(eq=False)
class Registration:
    """The role of this process for its host: active, standby or unknown.

    Threading: the heartbeat's thread; attributes may be read by any.

    :ivar identity: registered by the next request.
    :ivar epoch: under which this process is active, as far as it knows.
    :ivar standby_for: incarnation of the process that is active instead.
    :ivar registered_with: the settings on record.
    """

    identity: Identity
    records: Records
    run_in_background: Runner = run_now
    epoch: int | None = None
    standby_for: str | None = None
    registered_with: model.MemberSettings | None = None

    def __post_init__(self) -> None:
        self._losses = 0
        self._request: tuple[futures.Future[_Result], int] | None = None

    @property
    def is_pending(self) -> bool:
        """True while a request to the records is under way."""
        return self._request is not None

    def lose_epoch(self) -> None:
        """Drop the epoch, and ignore the result of a pending request."""
        self.epoch = None
        self._losses += 1

    def update(self, siblings: frozenset[str]) -> None:
        """Send the next request if one is needed; apply a result.

        :param siblings: other incarnations of the host that may be alive.
        :raises FencedError: if the epoch is no longer the current one.
        :raises RecordsError: if the records do not answer.
        """
        if self._request is None:
            work = self._next_request(siblings)
            if work is None:
                return
            self._request = futures.Future(), self._losses
            self.run_in_background(
                functools.partial(_answer, self._request[0], work)
            )
        answer, losses = self._request
        if not answer.done():
            return
        self._request = None
        if losses == self._losses:
            result = answer.result()
            if result is not None:
                result()

    def retire(self, grace: float) -> None:
        """Give up the active role, if this process has it.

        :param grace: seconds for which the service is expected back.
        :raises RecordsError: if that could not be written.
        """
        epoch, self.epoch = self.epoch, None
        if epoch is not None:
            self.records.retire(self.identity.host, epoch, grace=grace)

    def _next_request(
        self, siblings: frozenset[str]
    ) -> Callable[[], _Result] | None:
        if self.epoch is None:
            return functools.partial(self._register, self.identity, siblings)
        if self.registered_with != self.identity.settings:
            return functools.partial(
                self._advertise, self.epoch, self.identity
            )
        if siblings:
            return functools.partial(self._check_epoch, self.epoch)
        return None

    def _register(
        self, identity: Identity, siblings: frozenset[str]
    ) -> _Result:
        try:
            epoch = self.records.register(
                identity.host,
                identity.settings,
                incarnation=identity.incarnation,
                alive=siblings,
            )
        except exceptions.StandbyError as exc:
            return functools.partial(self._stand_by, exc.active)
        return functools.partial(self._activate, epoch, identity.settings)

    def _stand_by(self, active: str) -> None:
        self.standby_for = active

    def _activate(self, epoch: int, settings: model.MemberSettings) -> None:
        self.epoch, self.registered_with = epoch, settings
        self.standby_for = None

    def _advertise(self, epoch: int, identity: Identity) -> _Result:
        self.records.advertise(identity.host, epoch, identity.settings)
        return functools.partial(self._activate, epoch, identity.settings)

    def _check_epoch(self, epoch: int) -> _Result:
        rows = self.records.services()
        row = next((r for r in rows if r.host == self.identity.host), None)
        superseded = row is None or (
            not row.forced_down and (row.fenced or row.epoch != epoch)
        )
        return self.lose_epoch if superseded else None


def _answer(
    answer: futures.Future[_Result], work: Callable[[], _Result]
) -> None:
    try:
        answer.set_result(work())
    except Exception as exc:  # noqa: BLE001 - raised by update
        answer.set_exception(exc)


def standby_reason(host: str, active: str) -> tuple[str, str]:
    """Return the reason why a standby may not act, and a hint."""
    hint = (
        'It acts when that process ends, or hands over: ironic-ownership '
        f'service failover {host}'
    )
    return f'this process stands by for incarnation {active} of {host}', hint
