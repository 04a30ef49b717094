"""Entries of the feed."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import model
from ironic_ownership.contracts.availability import WITH_INSTANCE


@dataclasses.dataclass(frozen=True, slots=True)
class NodeView:
    """One owned node.

    :param node: as Ironic had it when it was last listed.
    :param epoch: of the service, under which it owns the node.
    :param unavailable: why nothing can be scheduled to it, as on record: a
        code of :class:`availability.Unavailable`.
    """

    node: model.Node
    epoch: int
    unavailable: str | None = None

    @property
    def is_reserved(self) -> bool:
        """True if no instance may come to it, and it has none already."""
        return self.unavailable not in (None, *WITH_INSTANCE)


@dataclasses.dataclass(frozen=True, slots=True)
class FeedEntry:
    """A node of the feed, with the generations of its changes."""

    view: NodeView
    gained_at: int
    changed_at: int
