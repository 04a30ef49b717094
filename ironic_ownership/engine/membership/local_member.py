"""Local member: join, heartbeat, detection of losses, and rejoin.

Runs in the heartbeat's thread and sends nothing to Ironic, so that a slow
refresh can't cost the membership. Members are processes. The records state
which process of a host is active; its other processes stand by.
"""

from __future__ import annotations

from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.membership.failure_detector import (
    Entry,
    FailureDetector,
    Liveness,
)
from ironic_ownership.engine.membership.registration import (
    Registration,
    Role,
    State,
)
from ironic_ownership.engine.membership.service_context import ServiceContext

LOG = log.getLogger(__name__)

_NO_HOSTS: frozenset[str] = frozenset()


class LocalMember:
    """This process as a member.

    :param settings: the settings that it advertises.
    :ivar registration: in the records.
    :ivar incarnation: the id of this process.
    :ivar is_member: whether it has joined, and knows of no loss since.
    :ivar on_change: called from the heartbeat's thread when members or
        their settings changed, or this process became active, or its own
        settings are on record; with the hosts that have died. It is set
        before the first beat.
    :ivar next_expiry: when, by the clock, the first member of the last view
        expires unless it beats; ``None`` where the store does not tell.
    """

    def __init__(
        self, context: ServiceContext, settings: model.MemberSettings
    ) -> None:
        self.context = context
        self.registration = Registration(context, settings)
        self.incarnation = self.registration.incarnation
        self._backend = context.ports.backend
        self._fence = context.fence
        self._conditions = context.conditions
        self._clock = context.clock
        self.on_change: Callable[[frozenset[str]], None] = lambda died: None
        self._detector = FailureDetector(self._backend.member_ttl)
        self._siblings = FailureDetector(self._backend.member_ttl)
        self.is_member = False
        self._accepted = False
        self._beat_started = self._polled_at = 0.0
        self._beat_wanted = False
        self._unseen = False
        self._joined_with: model.MemberSettings | None = None
        self._notified: model.View | None = None
        self._notify_wanted = False
        self._died = _NO_HOSTS
        self._notified_state: State | None = None
        self.next_expiry: float | None = None

    @property
    def is_idle(self) -> bool:
        """True if the records do not let this process act. Any thread.

        Another process of the host is active, or the service is forced down.
        """
        return self.state.role in (Role.STANDBY, Role.FORCED_DOWN)

    @property
    def state(self) -> State:
        """The role of this process for its host. Any thread."""
        return self.registration.state

    @property
    def epoch(self) -> int | None:
        """The epoch under which this process is active. Any thread.

        As far as it knows; the fence has the right to act.
        """
        state = self.registration.state
        return state.epoch if state.role is Role.ACTIVE else None

    @property
    def may_poll(self) -> bool:
        """True if the last beat was accepted, so that a poll makes sense."""
        return self.is_member and self._accepted

    @property
    def wants_beat(self) -> bool:
        """True if the next beat is due early."""
        # After one that failed, the store is not asked again at once.
        return self._beat_wanted or (
            self.may_poll
            and (self._detector.wants_beat or self._siblings.wants_beat)
        )

    @property
    def wants_poll(self) -> bool:
        """True if a poll is due although the backend reported no change."""
        registered = self.state.role in (Role.ACTIVE, Role.FORCED_DOWN)
        return not registered or bool(self._detector.liveness.suspect)

    def liveness(self) -> Liveness:
        """Return which hosts are dead or suspected. Any thread."""
        return self._detector.liveness

    def change_settings(self, settings: model.MemberSettings) -> None:
        """Advertise other settings from the next beat on. Any thread."""
        self.registration.settings = settings

    def advertises(self, settings: model.MemberSettings) -> bool:
        """Tell whether these settings have reached all other members.

        Those of an idle process are on record once it is active. Any thread.
        """
        state = self.registration.state
        return self._joined_with == settings and (
            state.settings == settings
            if state.role is Role.ACTIVE
            else self.is_idle
        )

    def beat(self) -> None:
        """Stay a member, or become one again; then poll the members.

        A failure is logged once, and retried by the next call.
        """
        self._beat_wanted = self._accepted = False
        if self._attempt('backend', 'heartbeat failed', self._beat):
            self._conditions.clear('backend', 'heartbeat succeeded again')
            self._conditions.succeeded(Loop.HEARTBEAT)
            self.poll()

    def poll(self) -> None:
        """Read the members, register, and notify of changes."""
        if self._attempt('members', 'reading the members failed', self._poll):
            self._conditions.clear('members', 'members are readable again')
            if not self.registration.is_pending:
                self._conditions.clear('register', 'registered in the records')
            self._conditions.clear('membership', 'member again')

    def check_epoch(self) -> bool:
        """Read the own service row, and drop the fence if the right ended.

        Any thread.

        :returns: whether this process has to register, or has stopped to act.
        :raises RecordsError: if the records do not answer; nothing follows
            from that: no write is accepted either.
        """
        return self.registration.check()

    def leave(self, grace: float = 0.0) -> None:  # Model: Stop
        """Give up the right to act, the active role and the membership.

        :param grace: seconds for which this service is expected back.
        """
        # Before the role: a standby may act as soon as that is given up.
        self._fence.drop()
        if not self.is_member:
            return
        self.is_member = False
        host = self.context.host
        # A process that resumed too late has nothing to give up.
        if self._fence.reaches(self._beat_started):
            self._retire(host, grace)
        try:
            self._backend.leave()
            LOG.info('%s left the membership', host)
        except exceptions.MembershipError as exc:
            LOG.warning(
                '%s could not leave the membership and will expire: %s',
                host,
                exc,
            )

    def _retire(self, host: str, grace: float) -> None:
        try:
            self.registration.retire(grace)
        except exceptions.FencedError:
            LOG.info('%s is served by another process already', host)
        except exceptions.RecordsError as exc:
            LOG.warning('%s could not record that it stops: %s', host, exc)

    def _attempt(
        self, condition: str, failed: str, work: Callable[[], None]
    ) -> bool:
        try:
            work()
        except exceptions.NotMemberError as exc:
            self._abandon()
            self._conditions.report(
                'membership', f'membership lost: {exc}', exc
            )
        except exceptions.BackendUnavailableError as exc:
            self._conditions.report(condition, f'{failed}: {exc}', exc)
        except exceptions.RecordsError as exc:
            self._conditions.report(
                'register', f'registration failed: {exc}', exc
            )
        else:
            return True
        return False

    def _beat(self) -> None:  # Model: Tick
        started = self._clock()
        if self.is_member:
            self._backend.beat()
        else:
            self._join()
        ended = self._clock()
        for detector in (self._detector, self._siblings):
            detector.beat_accepted(started, ended)
        self._accepted, self._beat_started = True, started
        self.registration.beat_accepted(started)
        settings = self.registration.settings
        if self._joined_with != settings:
            # Not known until there is an answer.
            self._joined_with = None
            self._backend.advertise(settings)
            self._joined_with = settings

    def _join(self) -> None:  # Model: Join
        host, settings = self.context.host, self.registration.settings
        self._backend.join(host, self.incarnation, settings)
        self.is_member, self._joined_with = True, settings
        self._settle(self._clock())
        LOG.info('%s joined as incarnation %s', host, self.incarnation)

    def _settle(self, at: float) -> None:
        self._polled_at = at
        for detector in (self._detector, self._siblings):
            detector.joined(at)

    def _abandon(self) -> None:
        self.is_member = self._accepted = False
        self.registration.membership_lost()
        self._beat_wanted = True  # join again immediately

    def _poll(self) -> None:
        started = self._clock()
        view = self._backend.view()
        ended = self._clock()
        if started - self._polled_at > self._backend.member_ttl:
            # As for one that has just joined: who has beaten meanwhile is not
            # known, if the clock of the store has jumped.
            self._settle(ended)
        self._polled_at = ended
        self.next_expiry = (
            None if view.expires_in is None else ended + view.expires_in
        )
        host, own = self.context.host, self.incarnation
        stored = {
            member.incarnation: member.settings
            for member in view.members
            if member.host == host
        }
        if own not in stored:
            # No conclusion from this view; a beat reveals whether it expired.
            self._beat_wanted = not self._unseen
            self._unseen = True
            return
        self._unseen = False
        if stored[own] != self._joined_with:
            # A request that had no answer was carried out after a later one.
            self._joined_with = None
        others: set[Entry] = {
            (member.host, (member.incarnation, member.joined_at))
            for member in view.members
            if member.host != host
        }
        siblings: set[Entry] = {
            (member.incarnation, member.joined_at)
            for member in view.members
            if member.host == host and member.incarnation != own
        }
        self._died |= self._detector.observe(others, started, ended)
        self._siblings.observe(siblings, started, ended)
        self._update_registration()
        self._notify(view)

    def _update_registration(self) -> None:
        siblings = self._siblings.liveness
        # A live one may be missing until its next heartbeat, after a jump of
        # the store's clock or a loss of its data.
        self.registration.update(
            siblings.present | siblings.suspect if siblings.settled else None
        )
        # Also with other settings: the reload waits until they are on record.
        state = self.registration.state
        if state.role is Role.ACTIVE and state is not self._notified_state:
            self._notify_wanted = True
        self._notified_state = state

    def _notify(self, view: model.View) -> None:
        if self._detector.wants_beat:
            return  # the meaning of the change is not clear yet
        changed = view != self._notified and (
            self._notified is None or view.checksum != self._notified.checksum
        )
        self._notified = view
        if changed or self._notify_wanted or self._died:
            died, self._died = self._died, _NO_HOSTS
            self._notify_wanted = False
            self.on_change(died)
