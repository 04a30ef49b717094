"""Wiring of one process: its container, its reserver and its host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ironic_ownership.wiring.container import Container

if TYPE_CHECKING:
    from ironic_ownership.engine.host.process import Host
    from ironic_ownership.engine.host.reload import Reload
    from ironic_ownership.engine.reservations.reserver import Reserver


class Wiring(Container):
    """The objects of one process, wired by its configuration."""

    def reserver(self, request_id: str | None = None) -> Reserver:
        """Build the reserver, for any number of threads.

        :param request_id: sent to Ironic with each request.
        :raises OwnershipError: if database or Ironic can't be used.
        """
        from ironic_ownership.wiring import reservations

        return reservations.reserver(self, request_id)

    def host(self, *, embedded: bool = False) -> tuple[Host, Reload]:
        """Build the host process of this configuration, and its reload.

        :raises OwnershipError: if any part of it can't work.
        """
        from ironic_ownership.wiring import host

        return host.build(self, embedded=embedded)
