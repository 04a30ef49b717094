"""One membership in the store: an id, a coordinator, from join to leave.

An id that was left or lost is never joined again; the next membership of
the process is another session. Everything here may block for as long as the
driver likes: the backend calls it in a thread that it can do without.
"""

from __future__ import annotations

import contextlib
import threading

from oslo_log import log
from tooz import coordination

from ironic_ownership.backends.tooz.driver import Coordinator, Store
from ironic_ownership.backends.tooz.member_record import Advert
from ironic_ownership.contracts import exceptions

LOG = log.getLogger(__name__)

_TRIES = 3
"""Each one more takes somebody who empties the store in between."""


class Session:
    """One membership.

    Threading: any; the calls wait for each other, so that a leave undoes a
    join that was given up but is still under way.

    :param group: the membership group.
    """

    def __init__(
        self,
        store: Store,
        group: bytes,
        advert: Advert,
    ) -> None:
        self.advert = advert
        self.id = advert.new_id()
        self._store = store
        self._group = group
        self._turn = threading.Lock()
        self._coordinator: Coordinator | None = None
        self._over = False
        self._guard = store.guard(self._expire)

    @property
    def is_over(self) -> bool:
        """Whether it was left, or ended for want of beats."""
        return self._over

    def join(self) -> None:
        """Become a member, in a group that is made if there is none."""
        with self._turn:
            if self._over:
                return
            self._guard.renew()
            coordinator = self._opened()
            for _ in range(_TRIES):
                self._enter(coordinator)
                # Where many join at once it can take longer than a member
                # lives.
                self._store.beat(coordinator)
                with contextlib.suppress(exceptions.NotMemberError):
                    self._look()
                    return
            raise coordination.ToozError('the store does not keep members')

    def beat(self) -> None:
        """Stay a member.

        :raises NotMemberError: if it is no member.
        """
        with self._turn:
            self._store.beat(self._started())
            # Drivers beat on happily after the store lost the member.
            self._look()
            self._guard.renew()

    def look(self) -> None:
        """Make sure that it is a member.

        :raises NotMemberError: if it is none.
        """
        with self._turn:
            self._look()

    def leave(self) -> None:
        """Be no member any more; nothing can bring it back."""
        self._over = True
        with self._turn:
            coordinator, self._coordinator = self._coordinator, None
            self._guard.end()
            if coordinator is None:
                return
            try:
                with contextlib.suppress(
                    coordination.MemberNotJoined, coordination.GroupNotCreated
                ):
                    self._store.leave(coordinator, self._group)
            finally:
                self._store.stop(coordinator)

    def close(self) -> None:
        """Free the connection; the member expires by itself."""
        coordinator = self._coordinator
        if coordinator is not None:
            self._store.disconnect(coordinator)

    def failed(self) -> None:
        """Be told that a call was not answered."""
        coordinator = self._coordinator
        if coordinator is not None:
            self._store.failed(coordinator)

    def _expire(self) -> None:
        """End it in a thread of the guard, to whom nobody listens."""
        try:
            self.leave()
        # Whatever the driver raises: without beats it ends by itself.
        except Exception as exc:  # noqa: BLE001
            LOG.debug('a membership without beats is left alone: %s', exc)

    def _look(self) -> None:
        try:
            self._started().get_member_capabilities(self._group, self.id).get(
                timeout=self._store.request_timeout
            )
        except (
            coordination.MemberNotJoined,
            coordination.GroupNotCreated,
        ) as exc:
            raise _lost() from exc

    def _opened(self) -> Coordinator:
        if self._coordinator is None:
            self._coordinator = self._store.open(self.id)
        return self._coordinator

    def _started(self) -> Coordinator:
        if self._coordinator is None:
            raise _lost()
        return self._coordinator

    def _enter(self, coordinator: Coordinator) -> None:
        data = self.advert.to_data()
        for _ in range(_TRIES):
            try:
                self._store.join(coordinator, self._group, data)
            except coordination.GroupNotCreated:
                self._create_group(coordinator)
            except coordination.MemberAlreadyExist:
                return  # an answer got lost; nobody else has this id
            else:
                return
        raise coordination.GroupNotCreated(self._group)

    def _create_group(self, coordinator: Coordinator) -> None:
        with contextlib.suppress(coordination.GroupAlreadyExist):
            coordinator.create_group(self._group).get(
                timeout=self._store.request_timeout
            )


def _lost() -> exceptions.NotMemberError:
    return exceptions.NotMemberError(
        'backend tooz: this process is not a member (any more)'
    )
