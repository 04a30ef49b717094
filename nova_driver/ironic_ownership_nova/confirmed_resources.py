"""Resources of a node that are confirmed each time that Nova uses them.

Nova asks the driver for them first, and takes the lock of its tracker later.
With the lock it reads the name of the node, before it reads or writes a row.
Nodes are taken from the tracker under the same lock, so nothing can be lost
between this confirmation and the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_NAME = 'hypervisor_hostname'


class ConfirmedResources(dict[str, Any]):
    """Resources of one node.

    :param resources: as Nova's own driver describes them.
    :param confirm: raises the error that ends the pass for the node.
    """

    def __init__(
        self, resources: Mapping[str, Any], confirm: Callable[[], None]
    ) -> None:
        super().__init__(resources)
        self._confirm = confirm

    def __getitem__(self, key: str) -> Any:
        if key == _NAME:
            self._confirm()
        return super().__getitem__(key)
