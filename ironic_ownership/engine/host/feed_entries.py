"""Entries of the feed, in compact form: a service may own 100,000 nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import compact, compact_forms, model
from ironic_ownership.contracts.availability import WITH_INSTANCE

_TOGETHER = 500
"""New entries that become compact together."""


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
class Entry:
    """A node of the feed, with the generations of its changes."""

    view: NodeView
    gained_at: int
    changed_at: int


class EntryForm(compact.Form[Entry]):
    """Entries: a node, its availability, and three numbers."""

    def __init__(self) -> None:
        self._nodes = compact_forms.NodeForm()

    @property
    def is_full(self) -> bool:
        """True if what further nodes have in common is not shared."""
        return self._nodes.is_full

    def row(self, value: Entry) -> Sequence[Any]:
        """Return an entry as JSON."""
        view = value.view
        row = self._nodes.row(view.node)
        at = value.gained_at, value.changed_at
        return (*row, view.epoch, view.unavailable, *at)

    def value(self, row: Sequence[Any]) -> Entry:
        """Build an equal entry."""
        *node, epoch, unavailable, gained_at, changed_at = row
        view = NodeView(self._nodes.value(node), epoch, unavailable)
        return Entry(view, gained_at, changed_at)


class Entries:
    """The entries by uuid. New ones become compact a few at a time."""

    def __init__(self) -> None:
        self._new: dict[str, Entry] = {}
        self._gone: set[str] = set()
        self._form = EntryForm()
        self._kept = compact.CompactMap(self._form)

    def kept(self) -> compact.CompactMap[Entry]:
        """Return all of them, as they are now."""
        if self._new or self._gone:
            self._kept = self._kept.changed(self._new.values(), self._gone)
            self._new.clear()
            self._gone.clear()
        return self._kept

    def pack(self) -> None:
        """Share again what the entries have in common by now, if needed."""
        if self._form.is_full:
            self._form = EntryForm()
            values = self.kept().values()
            self._kept = compact.CompactMap.of(self._form, values)

    def get(self, uuid: str) -> Entry | None:
        """Return the entry of a node, if there is one."""
        if uuid in self._gone:
            return None
        return self._new.get(uuid) or self._kept.get(uuid)

    def put(self, entry: Entry) -> None:
        """Add an entry, or replace that of its node."""
        self._gone.discard(entry.view.node.uuid)
        self._new[entry.view.node.uuid] = entry
        if len(self._new) >= _TOGETHER:
            self.kept()

    def pop(self, uuid: str) -> Entry | None:
        """Remove and return the entry of a node, if there is one."""
        found = self.get(uuid)
        if found is not None:
            self._new.pop(uuid, None)
            self._gone.add(uuid)
        return found


class Views(Mapping[str, NodeView]):
    """An immutable mapping of the views of entries."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries

    def __getitem__(self, uuid: str) -> NodeView:
        return self._entries[uuid].view

    def __contains__(self, uuid: object) -> bool:
        return uuid in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
