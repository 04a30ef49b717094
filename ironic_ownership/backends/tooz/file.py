"""Files: members on one machine, for trials and small test systems.

Members expire by the wall clock of the machine, and a late beat would renew
a member that has expired: the backend checks before it beats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ironic_ownership.backends.tooz import driver


class FileDriver(driver.Driver):
    """A directory."""

    name = 'file'
    schemes = ('file',)
    library = 'fasteners'  # comes with tooz
    extra = 'tooz'
    capabilities: ClassVar[driver.Capabilities] = frozenset()

    def options(self) -> Mapping[str, Any]:
        # For files, this option is the time to live.
        return {**super().options(), 'timeout': self.whole_ttl}
