"""The composition root: from configuration to objects that work together.

The only package that knows every implementation. Each object is built, and
its module imported, on first use, so that a command pays only for what it
uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ironic_ownership.settings.policy_building import interpret
from ironic_ownership.wiring.opts import list_opts
from ironic_ownership.wiring.service import ServiceContainer

if TYPE_CHECKING:
    from ironic_ownership.engine.host.process import Host

__all__ = ('Wiring', 'interpret', 'list_opts')


class Wiring(ServiceContainer):
    """The objects of one process, and the host if it serves."""

    def host(self, *, embedded: bool = False) -> Host:
        """Build the host process of this configuration.

        :raises OwnershipError: if any part of it can't work.
        """
        from ironic_ownership.wiring import host

        self.waits = True
        return host.build(self, embedded=embedded)
