"""Selection of compute nodes by what is on record."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import model


@dataclasses.dataclass(frozen=True, slots=True)
class NodeFilter:
    """Compute nodes to select by what is on record; ``None`` selects all.

    :param host: canonical host of the owner.
    :param shard: exactly as last seen in Ironic.
    :param conductor_group: in lower case; empty is the default group.
    """

    host: str | None = None
    shard: str | None = None
    conductor_group: str | None = None

    def matches(self, record: model.ComputeNode) -> bool:
        """Tell whether a record is selected."""
        return (
            self.host in (None, record.host)
            and self.shard in (None, record.shard)
            and self.conductor_group in (None, record.conductor_group)
        )
