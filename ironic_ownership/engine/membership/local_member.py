"""Be a member: join, beat, notice the loss, abandon, join again.

Runs in the heartbeat's thread and never asks Ironic for anything, so that a
slow refresh can't cost the membership. Members are processes; which of a
host's processes is active, the records say, and the others stand by.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.membership import failure_detector, registration
from ironic_ownership.engine.membership.fence import Clock, Fence, monotonic

LOG = log.getLogger(__name__)

_NOBODY: frozenset[str] = frozenset()


Identity = registration.Identity


class Membership:
    """This process among the members.

    :param on_change: called from the heartbeat's thread when members or
        their settings changed, or this process became active; with the
        hosts that have died.
    :param aside: has the records asked without waiting for them.
    :ivar next_expiry: when, by ``clock``, the first member of the last view
        expires unless it beats; ``None`` where the store does not tell.
    """

    def __init__(
        self,
        identity: Identity,
        backend: MembershipBackend,
        records: Records,
        fence: Fence,
        conditions: Conditions,
        on_change: Callable[[frozenset[str]], None],
        clock: Clock = monotonic,
        aside: registration.Aside = registration.at_once,
    ) -> None:
        self._place = registration.Registration(identity, records, aside)
        self._backend = backend
        self._fence = fence
        self._conditions = conditions
        self._on_change = on_change
        self._clock = clock
        self._deaths = failure_detector.FailureDetector(backend.member_ttl)
        # They have seen each other's membership in one and the same store,
        # and writes are bound to the epoch: no need to settle.
        self._siblings = failure_detector.FailureDetector(0.0)
        self._joined = False
        self._accepted = False
        self._beat_started = 0.0
        self._beat_wanted = False
        self._unseen = False
        self._joined_with: model.MemberSettings | None = None
        self._told: model.View | None = None
        self._to_tell = False
        self._died = _NOBODY
        self._lost = threading.Event()
        self.next_expiry: float | None = None

    @property
    def is_member(self) -> bool:
        """Whether this process has joined, and knows of no loss since."""
        return self._joined

    @property
    def stands_by(self) -> bool:
        """Whether another process of the host is active. Any thread."""
        return self.epoch is None and self._place.standby_for is not None

    @property
    def epoch(self) -> int | None:
        """The epoch that this process was given last, if any. Any thread."""
        return self._place.epoch

    @property
    def awaits_answer(self) -> bool:
        """Whether the records were asked something that is open."""
        return self._place.is_asking

    @property
    def may_look(self) -> bool:
        """Whether the last beat was accepted, so that a look makes sense."""
        return self._joined and self._accepted

    @property
    def wants_beat(self) -> bool:
        """Whether the next beat should not wait for its time."""
        return (
            self._beat_wanted
            or self._deaths.wants_beat
            or (self._siblings.wants_beat)
        )

    @property
    def wants_look(self) -> bool:
        """Whether a look is due although nobody told of a change."""
        return (
            self.epoch is None
            or self._lost.is_set()
            or bool(self._deaths.judgement.uncertain)
        )

    def judgement(self) -> failure_detector.Judgement:
        """Return who is dead, as this process judges it. Any thread."""
        return self._deaths.judgement

    def change_settings(self, settings: model.MemberSettings) -> None:
        """Advertise other settings from the next beat on. Any thread."""
        self._place.identity = dataclasses.replace(
            self._place.identity, settings=settings
        )

    def advertises(self, settings: model.MemberSettings) -> bool:
        """Tell whether these settings have reached all the others.

        What a standby runs is on record once it is active. Any thread.
        """
        return self._joined_with == settings and (
            self.stands_by or self._place.registered_with == settings
        )

    def beat(self) -> None:
        """Stay a member, or become one again; then look around.

        Whatever fails is reported once, and tried again at the next call;
        meanwhile the fence runs out by itself.
        """
        self._beat_wanted = self._accepted = False
        if self._reported('backend', 'no heartbeat', self._beat):
            self._conditions.clear('backend', 'heartbeats succeed again')
            self.look()

    def look(self) -> None:
        """See who is a member; judge, register, and tell what changed."""
        if self._reported('look', 'members cannot be seen', self._look):
            self._conditions.clear('look', 'members are seen again')
            if not self._place.is_asking:
                self._conditions.clear('register', 'registered in the records')
            self._conditions.clear('membership', 'is a member again')

    def lose_epoch(self) -> None:
        """Register anew at the next look: it was fenced. Any thread."""
        self._fence.drop()
        self._lost.set()

    def leave(self, grace: float = 0.0) -> None:
        """Give up the right to act, the active place, and the membership.

        :param grace: seconds for which this service is expected back.
        """
        self._fence.drop()
        if not self._joined:
            return
        self._joined = False
        host = self._place.identity.host
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
        if self._lost.is_set() or not self._fence.reaches(self._beat_started):
            # Whoever woke up too late has nothing to give up any more.
            return
        try:
            self._place.retire(grace)
        except exceptions.FencedError:
            LOG.info('%s is served by another process already', host)
        except exceptions.RecordsError as exc:
            LOG.warning('%s could not say that it stops: %s', host, exc)

    def _reported(
        self, condition: str, what: str, work: Callable[[], None]
    ) -> bool:
        """Do something, or report why not.

        :returns: whether it was done.
        """
        try:
            work()
        except exceptions.NotMemberError as exc:
            self._abandon()
            self._conditions.report('membership', f'membership lost: {exc}')
        except exceptions.BackendUnavailableError as exc:
            self._conditions.report(condition, f'{what}: {exc}')
        except exceptions.FencedError:
            self.lose_epoch()
        except exceptions.RecordsError as exc:
            self._conditions.report('register', f'cannot register: {exc}')
        else:
            return True
        return False

    def _beat(self) -> None:
        started = self._clock()
        if self._joined:
            self._backend.beat()
        else:
            self._join()
        ended = self._clock()
        for judge in (self._deaths, self._siblings):
            judge.beaten(started, ended)
        self._accepted, self._beat_started = True, started
        if self.epoch is not None and not self._lost.is_set():
            self._fence.extend(started, self.epoch)
        settings = self._place.identity.settings
        if self._joined_with != settings:
            self._backend.advertise(settings)
            self._joined_with = settings

    def _join(self) -> None:
        who = self._place.identity
        self._backend.join(who.host, who.incarnation, who.settings)
        self._joined, self._joined_with = True, who.settings
        for judge in (self._deaths, self._siblings):
            judge.joined(self._clock())
        LOG.info('%s joined as incarnation %s', who.host, who.incarnation)

    def _abandon(self) -> None:
        self._fence.drop()
        self._joined = self._accepted = False
        self._place.lose()
        self._beat_wanted = True  # to join again, nobody has to wait

    def _look(self) -> None:
        started = self._clock()
        view = self._backend.view()
        ended = self._clock()
        self.next_expiry = (
            None if view.expires_in is None else ended + view.expires_in
        )
        host = self._place.identity.host
        own = self._place.identity.incarnation
        others = view.incarnations(host) - {own}
        if own not in view.incarnations(host):
            # Nothing may be concluded; a beat will tell whether we are out.
            self._beat_wanted = not self._unseen
            self._unseen = True
            return
        self._unseen = False
        self._died |= self._deaths.look(view.hosts - {host}, started, ended)
        self._siblings.look(others, started, ended)
        self._attend()
        self._tell(view)

    def _attend(self) -> None:
        """Keep, lose or take the active place of this host."""
        if self._lost.is_set():
            self._fence.drop()
            self._lost.clear()
            self._place.lose()
        siblings = self._siblings.judgement
        may_live = siblings.present | siblings.uncertain
        before = self.epoch
        self._place.attend(may_live)
        if before is not None and self.epoch is None:
            self._fence.drop()
            self._place.attend(may_live)
        if self.epoch is None:
            if self._place.standby_for is not None:
                self._stand_by(self._place.standby_for)
        elif self.epoch != before:
            self._become_active(self.epoch)

    def _become_active(self, epoch: int) -> None:
        host = self._place.identity.host
        self._fence.extend(self._beat_started, epoch)
        self._conditions.clear('standby', f'{host}: active from now on')
        LOG.info('%s registered, epoch %s', host, epoch)
        self._to_tell = True

    def _stand_by(self, active: str) -> None:
        host = self._place.identity.host
        self._fence.drop(registration.standing_by(host, active))
        self._conditions.report(
            'standby', f'{host} stands by for incarnation {active}'
        )

    def _tell(self, view: model.View) -> None:
        """Tell of what changed, once it is clear what that means."""
        if self._deaths.wants_beat:
            return
        changed = view != self._told and (
            self._told is None or view.checksum != self._told.checksum
        )
        self._told = view
        if changed or self._to_tell or self._died:
            died, self._died, self._to_tell = self._died, _NOBODY, False
            self._on_change(died)
