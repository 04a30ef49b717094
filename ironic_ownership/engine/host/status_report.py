"""What a service says of itself in the records, for ``check`` to find.

Beside the members that it sees: why it does not act by its configuration. A
refused configuration and a policy that fails share one text, of which
:func:`parts` makes two again.
"""

from __future__ import annotations

import threading

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.membership.fence import Fence

_FAULT = 'plugin fault: '


def text_of(config_error: str | None, plugin_fault: str | None) -> str | None:
    """Return both in one text."""
    fault = None if plugin_fault is None else f'{_FAULT}{plugin_fault}'
    return '; '.join(filter(None, (config_error, fault))) or None


def parts(text: str | None) -> tuple[str | None, str | None]:
    """Return the refused configuration and the policy's fault in a text."""
    refused, _, fault = (text or '').partition(_FAULT)
    return refused.removesuffix('; ') or None, fault or None


class StatusReport:
    """Stores what one service says of itself, when that has changed.

    Threading: any thread.

    :ivar config_error: why it keeps its old configuration.
    :ivar plugin_fault: which policy fails, and how.
    """

    def __init__(self, host: str, records: Records, fence: Fence) -> None:
        self._host = host
        self._records = records
        self._fence = fence
        self._lock = threading.Lock()
        self._stored: tuple[int, str, str | None] | None = None
        self.config_error: str | None = None
        self.plugin_fault: str | None = None

    def store(self, view: model.View) -> None:
        """Store it.

        :param view: the members that the service sees.
        :raises OwnershipError: if it cannot be stored.
        """
        with self._lock:
            said = (
                self._fence.epoch(),
                view.checksum,
                text_of(self.config_error, self.plugin_fault),
            )
            if said == self._stored:
                return
            epoch, checksum, text = said
            self._records.report(
                self._host, epoch, view_checksum=checksum, config_error=text
            )
            self._stored = said
