"""Be a member: join, beat, notice the loss, abandon, join again.

Runs in the heartbeat's thread and never asks Ironic for anything, so that a
slow refresh can't cost the membership.
"""

from __future__ import annotations

import dataclasses
import threading
import uuid
from collections.abc import Callable

from oslo_log import log

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts import records as records_
from ironic_ownership.engine import fence, notices

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Identity:
    """Who is a member, and what it tells the others."""

    host: str
    settings: model.MemberSettings


class Membership:
    """This process among the members.

    :param on_change: called from the heartbeat's thread when the members
        or their settings changed.
    """

    def __init__(
        self,
        identity: Identity,
        backend_: backend.MembershipBackend,
        records: records_.Records,
        fence_: fence.Fence,
        notices_: notices.Notices,
        on_change: Callable[[], None],
        clock: fence.Clock = fence.monotonic,
    ) -> None:
        self._identity = identity
        self._backend = backend_
        self._records = records
        self._fence = fence_
        self._notices = notices_
        self._on_change = on_change
        self._clock = clock
        self._joined = False
        self._incarnation: str | None = None
        self._epoch: int | None = None
        self._joined_with: model.MemberSettings | None = None
        self._registered_with: model.MemberSettings | None = None
        self._view_checksum = ''
        self._lost = threading.Event()

    @property
    def is_member(self) -> bool:
        """Whether this process has joined, and knows of no loss since."""
        return self._joined

    def change_settings(self, settings: model.MemberSettings) -> None:
        """Advertise other settings from the next beat on.

        Threading: any thread.
        """
        self._identity = dataclasses.replace(self._identity, settings=settings)

    def advertises(self, settings: model.MemberSettings) -> bool:
        """Tell whether these settings have reached all the others.

        Threading: any thread.
        """
        return self._joined_with == self._registered_with == settings

    def beat(self) -> None:
        """Stay a member, or become one again; tell of changed members.

        Whatever fails is reported once, and tried again at the next call;
        meanwhile the fence runs out by itself.

        :raises MemberExistsError: if another live process has our host name.
        """
        started = self._clock()
        try:
            self._stay_member()
            epoch = self._registered()
            self._fence.extend(started, epoch)
            self._advertise(epoch)
            self._look_around()
        except exceptions.NotMemberError as exc:
            self._abandon()
            self._notices.report('membership', f'membership lost: {exc}')
        except exceptions.BackendUnavailableError as exc:
            self._notices.report('backend', f'no heartbeat: {exc}')
        except exceptions.FencedError:
            self.lose_epoch()
        except exceptions.RecordsError as exc:
            self._notices.report('register', f'cannot register: {exc}')
        else:
            self._notices.clear('backend', 'heartbeats succeed again')
            self._notices.clear('register', 'registered in the records')
            self._notices.clear('membership', 'is a member again')

    def lose_epoch(self) -> None:
        """Register anew at the next beat: somebody fenced this service.

        Threading: any thread.
        """
        self._fence.drop()
        self._lost.set()

    def leave(self) -> None:
        """Give up the right to act, then the membership."""
        self._fence.drop()
        if not self._joined:
            return
        self._joined = False
        try:
            self._backend.leave()
            LOG.info('%s left the membership', self._identity.host)
        except exceptions.MembershipError as exc:
            LOG.warning(
                '%s could not leave the membership and will expire: %s',
                self._identity.host,
                exc,
            )

    def _stay_member(self) -> None:
        if self._joined:
            self._backend.beat()
            return
        # Kept until a join is answered: one that timed out may have come
        # true all the same, and must not look like somebody else.
        incarnation = self._incarnation = self._incarnation or uuid.uuid4().hex
        host, settings = self._identity.host, self._identity.settings
        self._backend.join(host, incarnation, settings)
        self._joined, self._joined_with = True, settings
        self._incarnation = None
        LOG.info('%s joined as incarnation %s', host, incarnation)

    def _registered(self) -> int:
        if self._lost.is_set():
            self._lost.clear()
            self._epoch = None
        if self._epoch is None:
            host, settings = self._identity.host, self._identity.settings
            self._epoch = self._records.register(host, settings)
            self._registered_with = settings
            LOG.info('%s registered, epoch %s', host, self._epoch)
        return self._epoch

    def _advertise(self, epoch: int) -> None:
        host, settings = self._identity.host, self._identity.settings
        if self._joined_with != settings:
            self._backend.advertise(settings)
            self._joined_with = settings
        if self._registered_with != settings:
            self._records.advertise(host, epoch, settings)
            self._registered_with = settings

    def _abandon(self) -> None:
        self._fence.drop()
        self._joined = False
        self._epoch = None

    def _look_around(self) -> None:
        checksum = self._backend.view().checksum
        if checksum != self._view_checksum:
            self._view_checksum = checksum
            self._on_change()
