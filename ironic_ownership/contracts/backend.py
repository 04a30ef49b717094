"""The contract of membership backends, which know the live services.

A backend knows no nodes and decides nothing. Members are processes: several
of one host may be members at the same time, and the records name the active
one; the others stand by.

Threading: :meth:`MembershipBackend.join`, :meth:`~MembershipBackend.beat`,
:meth:`~MembershipBackend.advertise`, :meth:`~MembershipBackend.leave` and
:meth:`~MembershipBackend.watch` are called from one thread at a time,
:meth:`~MembershipBackend.view` and :meth:`~MembershipBackend.close` from
any. Blocking: every call ends within ``call_timeout`` seconds, also while the
store is down, and :meth:`~MembershipBackend.watch` within its own
``timeout``. Failure: a store that does not answer is
:class:`BackendUnavailableError`; no conclusion about the members follows.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Mapping
from typing import ClassVar

from ironic_ownership.contracts import model
from ironic_ownership.contracts.options import Option


class Capability(enum.Enum):
    """One guarantee; a backend lists those it gives in ``capabilities``.

    :cvar SHARED: processes on several machines see the same members. Without
        it the backend is for one process or one machine only.
    :cvar PERSISTENT: members survive a restart of the store.
    :cvar STORE_CLOCK: expiry is evaluated by the clock of the store, never by
        a member's.
    :cvar WATCH: the store notifies of changes, see
        ``MembershipBackend.watch``; without it the host polls at an interval.
    """

    SHARED = 'shared'

    PERSISTENT = 'persistent'

    STORE_CLOCK = 'store_clock'

    WATCH = 'watch'


class MembershipBackend(abc.ABC):
    """One kind of store of the live members.

    :cvar contract_version: the contract the plugin was written for; declare it
        as a number.
    :cvar options: the options that the backend brings.
    :cvar capabilities: the guarantees that the backend gives.
    """

    contract_version: ClassVar[int]

    options: ClassVar[tuple[Option, ...]] = ()

    capabilities: ClassVar[frozenset[Capability]] = frozenset()

    def __init__(
        self,
        settings: Mapping[str, model.Value],
        *,
        member_ttl: float,
        call_timeout: float,
    ) -> None:
        """Build the backend; no IO yet.

        Any exception refuses the start of the process. To refuse a value,
        give its option a ``check``: the message then names the option.

        :param settings: a value for each declared option, by name.
        :param member_ttl: seconds after its last beat at which a member is
            no longer alive.
        :param call_timeout: seconds within which every call has to end.
        """
        self.settings = dict(settings)
        self.member_ttl = member_ttl
        self.call_timeout = call_timeout

    @abc.abstractmethod
    def join(
        self, host: str, incarnation: str, settings: model.MemberSettings
    ) -> None:
        """Become a member.

        Joining again as the same incarnation renews the membership and
        replaces the settings; other incarnations of the host stay.

        :param host: canonical name of the service.
        :param incarnation: a text that no other start of a process has;
            letters and digits, at most 64.
        :param settings: what to advertise.
        :raises BackendUnavailableError: if the store does not answer; the
            join may have taken effect all the same.
        """

    @abc.abstractmethod
    def beat(self) -> None:
        """Renew the membership for another ``member_ttl``.

        :raises NotMemberError: if this incarnation has expired or was
            removed, or the store lost it; the store is unchanged, and only
            :meth:`join` helps.
        :raises BackendUnavailableError: if the store does not answer.
        """

    @abc.abstractmethod
    def advertise(self, settings: model.MemberSettings) -> None:
        """Replace the settings that this member advertises.

        :raises NotMemberError: as for :meth:`beat`.
        :raises BackendUnavailableError: if the store does not answer.
        """

    @abc.abstractmethod
    def leave(self) -> None:
        """Stop being a member, immediately for all views. Idempotent.

        :raises BackendUnavailableError: if the store does not answer; the
            member then expires by itself.
        """

    @abc.abstractmethod
    def view(self) -> model.View:
        """Return the members alive now, as the store evaluates expiry.

        Works without having joined.

        :raises BackendUnavailableError: if the store does not answer.
        """

    def watch(self, timeout: float) -> bool:
        """Wait until the store reports that the members may have changed.

        Called only for backends with the capability ``WATCH``; without it
        the host polls the view every ``[membership] watch_interval``.

        :param timeout: seconds to wait at most, a second or less in a service.
            It bounds this call, and ``call_timeout`` does not.
        :returns: whether something may have changed since the last call,
            changes between two calls included. The first call may return
            ``True`` immediately; a needless ``True`` costs a read.
        :raises BackendUnavailableError: if the store does not answer.
        """
        raise NotImplementedError(
            f'{type(self).__name__} does not declare the capability WATCH'
        )

    def close(self) -> None:
        """Free what the backend holds. Never raises; idempotent."""
        return None
