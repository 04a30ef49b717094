"""The membership backends: who is alive, and am I still one of them.

A backend knows nothing of nodes and decides nothing. It never starts a
thread: the host calls it from its heartbeat thread.

Threading: :meth:`MembershipBackend.join`, :meth:`~MembershipBackend.beat`
and :meth:`~MembershipBackend.leave` are called from one thread at a time,
:meth:`~MembershipBackend.view` from any. Blocking: every call ends within
``call_timeout`` seconds, also while the store is down. Failure: a store that
does not answer is :class:`BackendUnavailableError`, which says nothing about
who is alive.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import ClassVar

from ironic_ownership.contracts import capabilities as capabilities_
from ironic_ownership.contracts import model
from ironic_ownership.contracts import options as options_


class MembershipBackend(abc.ABC):
    """One way to learn which services are alive."""

    contract_version: ClassVar[int]
    """The contract the plugin was written for; declare it as a number."""

    options: ClassVar[tuple[options_.Option, ...]] = ()
    """The options that the backend brings."""

    capabilities: ClassVar[frozenset[capabilities_.Capability]] = frozenset()
    """The guarantees that the backend gives."""

    def __init__(
        self,
        settings: Mapping[str, model.Value],
        *,
        member_ttl: float,
        call_timeout: float,
    ) -> None:
        """Build the backend; no IO yet.

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

        :param host: canonical name of the service.
        :param incarnation: a text that no other start of a process has.
        :param settings: what to advertise.
        :raises MemberExistsError: if another incarnation of the host is
            alive; the store is unchanged.
        :raises BackendUnavailableError: if the store does not answer.
        """

    @abc.abstractmethod
    def beat(self) -> None:
        """Say "still alive" and stay a member for another ``member_ttl``.

        :raises NotMemberError: if this incarnation has expired, was replaced
            or removed; the store is unchanged, and only :meth:`join` helps.
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
        """Stop being a member, at once for everyone. Idempotent.

        :raises BackendUnavailableError: if the store does not answer; the
            member then expires by itself.
        """

    @abc.abstractmethod
    def view(self) -> model.View:
        """Return the members alive now, by the store's own judgement.

        Works without having joined.

        :raises BackendUnavailableError: if the store does not answer.
        """

    def close(self) -> None:
        """Free what the backend holds. Never raises; idempotent."""
        return None
