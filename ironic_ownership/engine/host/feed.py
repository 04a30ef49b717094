"""Feed of the nodes that this service owns, for the program that embeds it.

It answers from the last refresh, without a request. A service that may not
act owns nothing: when its right ends, the feed is empty at once, and it is
filled again by the first refresh of the next right. The feed is for planning;
before a program acts on a node it asks the guard.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import types
from collections.abc import Collection, Iterable, Iterator, Mapping

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.reasons import WITH_INSTANCE
from ironic_ownership.contracts.records import Change, Claim, Report, Update
from ironic_ownership.engine.membership import fence


@dataclasses.dataclass(frozen=True, slots=True)
class NodeView:
    """One owned node.

    :param node: as Ironic had it when it was last listed.
    :param epoch: of the service, under which it owns the node.
    :param unavailable: why nothing can be scheduled to it, as on record: a
        code of :class:`reasons.Unavailable`.
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


KEPT_LOSSES = 10_000
"""Lost nodes that are remembered at least, for :meth:`Feed.changes_since`."""


@dataclasses.dataclass(frozen=True)
class FeedChanges:
    """The difference between two generations of the feed.

    To follow it: remove what was lost, then add what was gained or updated;
    after a reset, drop everything first. A node that was lost and gained in
    between counts as gained.

    :param generation: the later one.
    :param updated: nodes that Ironic describes differently now, or whose
        availability has changed.
    :param lost: uuids; some of them may never have been seen.
    :param reset: the earlier generation is too old or unknown: ``gained``
        has all nodes.
    """

    generation: int
    gained: Mapping[str, NodeView] = dataclasses.field(default_factory=dict)
    updated: Mapping[str, NodeView] = dataclasses.field(default_factory=dict)
    lost: frozenset[str] = frozenset()
    reset: bool = False

    def __bool__(self) -> bool:
        return bool(self.reset or self.gained or self.updated or self.lost)


@dataclasses.dataclass(frozen=True, slots=True)
class ReadToken:
    """The time at which a caller began to read the records.

    :param period: of the right to act; what was read in one says nothing
        about the next.
    """

    period: int
    generation: int
    order: int


class Feed:
    """The nodes that this service owns and may act on.

    Threading: any thread.

    :param write_lease: the right of the service to act.
    :param has_readers: without any, nothing is kept, and it stays empty.
    """

    def __init__(
        self, write_lease: fence.Fence, *, has_readers: bool = True
    ) -> None:
        self._fence = write_lease
        self._has_readers = has_readers
        self._lock = threading.Lock()
        self._generation = 0
        self._entries: dict[str, FeedEntry] = {}
        # Nodes that may differ here from the last list.
        self._unlisted: set[str] = set()
        self._lost: dict[str, int] = {}
        self._forgotten = 0
        self._has_changed = False
        self._period = self._reads = 0
        self._retained: tuple[int, Collection[str]] = 0, ()
        self._excluded: frozenset[str] = frozenset()
        self._term: int | None = None
        self._is_complete = False
        self._owned: tuple[int, Mapping[str, NodeView]] = 0, {}

    @property
    def generation(self) -> int:
        """The number of the last change; greater after each change."""
        with self._lock:
            self._follow_fence()
            return self._generation

    @property
    def is_complete(self) -> bool:
        """True if all owned nodes are known.

        From the first refresh after the service got the right to act until
        that right ends.
        """
        with self._lock:
            self._follow_fence()
            return self._is_complete

    def owned(self) -> Mapping[str, NodeView]:
        """Return the owned nodes by uuid: an immutable copy, cheap."""
        with self._lock:
            self._follow_fence()
            generation, owned = self._owned
            if generation != self._generation:
                owned = types.MappingProxyType(
                    {uuid: one.view for uuid, one in self._entries.items()}
                )
                self._owned = self._generation, owned
            return owned

    def changes_since(self, generation: int) -> FeedChanges:
        """Return what has changed since an earlier generation.

        :param generation: of the last changes, or 0 for all nodes.
        """
        with self._lock:
            self._follow_fence()
            now = self._generation
            if generation == now:
                return FeedChanges(now)
            reset = not self._forgotten <= generation < now
            since = -1 if reset else generation
            gained, updated = {}, {}
            for uuid, entry in self._entries.items():
                if entry.gained_at > since:
                    gained[uuid] = entry.view
                elif entry.changed_at > since:
                    updated[uuid] = entry.view
            kept = {} if reset else self._lost
            lost = frozenset(uuid for uuid, at in kept.items() if at > since)
            return FeedChanges(now, gained, updated, lost, reset)

    def wait(self, generation: int, timeout: float) -> bool:
        """Wait until there is a later generation.

        :param timeout: seconds to wait at most.
        :returns: whether there is one.
        """
        return self._fence.wait_until(
            lambda: self.generation != generation, timeout
        )

    def wait_until_complete(self, timeout: float) -> bool:
        """Wait until all owned nodes are known; see :attr:`is_complete`."""
        return self._fence.wait_until(lambda: self.is_complete, timeout)

    def read_token(self) -> ReadToken:
        """Return a token from before records are read."""
        with self._lock:
            self._follow_fence()
            self._reads += 1
            return ReadToken(self._period, self._generation, self._reads)

    def listed(
        self,
        token: ReadToken,
        own: Collection[str],
        nodes: Mapping[str, model.Node],
        among: Collection[str] | None = None,
        records: Mapping[str, model.ComputeNode] | None = None,
    ) -> None:
        """Take all own records as a refresh read them.

        An own node that is not listed stays as it was known, if it was.

        :param token: from before the records were read.
        :param own: uuids of all own records.
        :param nodes: as Ironic listed them, of any owner, by uuid.
        :param among: uuids of all nodes and records that may differ from
            those that were listed last; any by default.
        :param records: have the availability of the nodes, by uuid.
        """
        with self._changing():
            lease = self._lease(token)
            if lease is None:
                return
            order, retained = self._retained
            for uuid, node in self._to_compare(own, nodes, among):
                is_own = uuid in own and (
                    token.order >= order or uuid in retained
                )
                if is_own and node is None:
                    continue
                # Newer than the list: the next refresh compares it again.
                entry = self._entries.get(uuid)
                at = entry.changed_at if entry else self._lost.get(uuid, -1)
                if at > token.generation:
                    self._unlisted.add(uuid)
                    continue
                if is_own and node is not None:
                    record = records.get(uuid) if records else None
                    code = record.unavailable if record else None
                    self._put(NodeView(node, lease.epoch, code))
                else:
                    self._lose(uuid)
                self._unlisted.discard(uuid)

    def completed(self, token: ReadToken) -> None:
        """Note that a refresh has written all that it could claim.

        :param token: from the begin of the refresh.
        """
        with self._lock:
            if self._lease(token) is None or self._is_complete:
                return
            self._is_complete = True
        self._fence.changes.notify()

    def exclude(self, uuids: Collection[str]) -> None:
        """Leave out own nodes that the service may not serve.

        :param uuids: all of them; the next refresh adds others again.
        """
        with self._changing():
            self._excluded = frozenset(uuids)
            for uuid in self._excluded:
                self._lose(uuid)

    def retain(self, token: ReadToken, own: Collection[str]) -> bool:
        """Drop nodes whose records are no longer own ones.

        :param token: from before the records were read.
        :param own: uuids of all own records.
        :returns: whether own nodes are missing here: a refresh has them.
        """
        with self._changing():
            if self._lease(token) is None:
                return False
            # Also against a refresh that has read the records before.
            self._retained = token.order, own
            for uuid, entry in list(self._entries.items()):
                if uuid not in own and entry.changed_at <= token.generation:
                    self._lose(uuid)
            return any(
                uuid not in self._entries and uuid not in self._excluded
                for uuid in own
            )

    def written(self, token: ReadToken, changes: Iterable[Change]) -> None:
        """Take changes of this service that its records accepted.

        :param token: from before they were written.
        """
        with self._changing():
            lease = self._lease(token)
            if lease is None:
                return
            order, retained = self._retained
            for change in changes:
                if isinstance(change, Claim | Update):
                    # A later read of the records no longer had it.
                    if token.order < order and change.uuid not in retained:
                        continue
                    code = self._availability_after(change)
                    self._put(NodeView(change.node, lease.epoch, code))
                elif not isinstance(change, Report):
                    self._lose(change.uuid)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock, then notify of what has changed."""
        with self._lock:
            yield
            changed = self._advance()
        if changed:
            # Without the lock: a subscriber may read the feed.
            self._fence.changes.notify()

    def _follow_fence(self) -> fence.Lease | None:
        try:
            lease = self._fence.lease()
        except exceptions.FencedError:
            lease = None
        term = lease.term if lease else None
        # What was read under an earlier right says nothing about this one.
        if term != self._term:
            self._term = term
            self._period += 1
            self._is_complete = False
            for uuid in list(self._entries):
                self._lose(uuid)
            self._unlisted.clear()
            self._advance()
        return lease

    def _lease(self, token: ReadToken) -> fence.Lease | None:
        lease = self._follow_fence()
        is_current = self._has_readers and token.period == self._period
        return lease if is_current else None

    def _to_compare(
        self,
        own: Collection[str],
        nodes: Mapping[str, model.Node],
        among: Collection[str] | None,
    ) -> Iterator[tuple[str, model.Node | None]]:
        """Yield nodes with what is listed of them, if it is."""
        if among is not None:
            for uuid in {*among, *self._unlisted}:
                yield uuid, nodes.get(uuid)
            return
        self._unlisted.clear()
        for uuid in list(self._entries):
            if uuid not in own:
                yield uuid, None
        for uuid, node in nodes.items():
            if uuid in own:
                yield uuid, node

    def _availability_after(self, change: Claim | Update) -> str | None:
        if change.availability is not None:
            return change.availability.code
        # The record keeps what it has.
        entry = self._entries.get(change.uuid)
        return entry.view.unavailable if entry else None

    def _put(self, view: NodeView) -> None:
        uuid = view.node.uuid
        if uuid in self._excluded:
            return
        entry = self._entries.get(uuid)
        if entry is not None and entry.view == view:
            return
        at = self._next()
        self._lost.pop(uuid, None)
        gained_at = entry.gained_at if entry else at
        self._entries[uuid] = FeedEntry(view, gained_at, at)

    def _lose(self, uuid: str) -> None:
        if self._entries.pop(uuid, None) is not None:
            self._unlisted.add(uuid)
            # At its end: the oldest come first.
            self._lost.pop(uuid, None)
            self._lost[uuid] = self._next()

    def _next(self) -> int:
        self._has_changed = True
        return self._generation + 1

    def _advance(self) -> bool:
        """Begin the next generation if an entry has changed."""
        changed, self._has_changed = self._has_changed, False
        if changed:
            self._generation += 1
            limit = max(KEPT_LOSSES, 2 * len(self._entries))
            for uuid in list(self._lost)[: max(0, len(self._lost) - limit)]:
                self._forgotten = self._lost.pop(uuid)
        return changed
