"""Files: members on one machine, for tries and small test systems.

Expiry goes by the wall clock of the machine, and a late beat would renew a
member that everybody had missed: the backend asks before it beats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ironic_ownership.backends.tooz import driver


class FileStore(driver.Store):
    """A directory."""

    name = 'file'
    schemes = ('file',)
    library = 'fasteners'  # comes with tooz
    extra = 'tooz'
    capabilities: ClassVar[driver.Capabilities] = frozenset()

    def options(self) -> Mapping[str, Any]:
        """Return the options of the driver."""
        # Here it is the time to live.
        return {**super().options(), 'timeout': self.whole_ttl}
