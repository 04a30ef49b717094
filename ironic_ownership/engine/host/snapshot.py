"""Snapshot of everything that one refresh decides from, read in safe order.

Instances are read again before free nodes are released.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable, Mapping, Set

from ironic_ownership.contracts import model
from ironic_ownership.contracts.bare_metal import NO_NODES
from ironic_ownership.contracts.records import Change, Release, Update
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host.fleet_reader import FleetReader, with_changes
from ironic_ownership.engine.ports import BareMetal, Ports, Records


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """One moment, as one service saw it.

    :param scope: that of the service.
    :param nodes: all nodes in it, by uuid.
    :param records: by uuid: those of the nodes, and the service's own.
    :param services: by host.
    :param view: serving view, with one member for each host.
    :param changed: uuids of nodes that, or whose records, may differ from
        those in the snapshot before; ``None`` if Ironic just listed all nodes.
    """

    scope: model.Scope
    nodes: Mapping[str, model.Node]
    records: Mapping[str, model.ComputeNode]
    services: Mapping[str, model.Service]
    view: model.View
    changed: frozenset[str] | None = None

    @property
    def is_whole(self) -> bool:
        """True if Ironic just listed all nodes.

        Only then a node that is not among them may be missing.
        """
        return self.changed is None

    def including(self, nodes: Iterable[model.Node]) -> Snapshot:
        """Return the snapshot with nodes that were looked up as well."""
        more = {node.uuid: node for node in nodes}
        changed = self.changed
        if changed is not None:
            changed |= more.keys()
        return dataclasses.replace(
            self, nodes={**self.nodes, **more}, changed=changed
        )


def take(
    scope: model.Scope, ports: Ports, reader: FleetReader, cache: RecordCache
) -> Snapshot:
    """Read services, records, nodes and view.

    :param reader: of the nodes.
    :param cache: of the records.
    :raises OwnershipError: if any of them can't be read; then there is no
        snapshot at all.
    """
    # Before the view: an owner that is not alive in it had at most the epoch
    # read here, so a claim detects that it came back.
    services: Mapping[str, model.Service] = {
        service.host: service for service in ports.records.services()
    }
    policy_set.prepare(services.values(), ports.interpret)
    # Before the nodes: an instance on record that Ironic no longer has is
    # really gone.
    cache.in_reach(scope, services)
    fleet = reader.read(scope)
    nodes, changed = fleet.nodes, fleet.changed
    # A record can lie outside of the scope: its owner has not noticed yet
    # that the node came into this one.
    records, late = cache.complete(nodes, changed)
    # Their records may be newer than the list; the next refresh has both.
    if late:
        nodes = {uuid: nodes[uuid] for uuid in nodes if uuid not in late}
    if changed is not None:
        changed |= cache.changed
    # Last, because it states which services may act now.
    services, view = read_members(services, ports)
    return Snapshot(scope, nodes, records, services, view, changed)


def read_members(
    services: Mapping[str, model.Service], ports: Ports
) -> tuple[Mapping[str, model.Service], model.View]:
    """Read which services are alive, and which of the others are away.

    :param services: as read before: claims have to name their epochs.
    :returns: these services, and the serving view.
    """
    view = ports.backend.view().serving(services.values())
    if services.keys() <= view.hosts:
        return services, view
    # Read again: a service writes its own flag before it leaves.
    away = {row.host for row in ports.records.services() if row.away}
    return {
        host: dataclasses.replace(row, away=host in away)
        for host, row in services.items()
    }, view


LOOKED_UP_BY_UUID = 500
"""Above this number, one query for all records is cheaper than several."""


@dataclasses.dataclass(eq=False)
class RecordCache:
    """The records that one service needs in a refresh.

    Threading: the refresh thread only.

    Every transaction that changes a record raises the revision of a service,
    and marks the record with that service and revision. A refresh reads the
    revisions of all services, and then the records with marks of those that
    rose, and of greater revisions than it knew.

    Why nothing is missed: a record has the mark of its last change, by a
    service *h* with a revision *r*. The row of *h* is locked until the commit,
    so the commits that raise it are one after the other, and each reads as
    greater than those before.

    * A refresh that reads a smaller revision of *h* does not see the change,
      or only by chance. It remembers this smaller revision, so that the mark
      is new for the next one.
    * The first refresh that reads *r* or more does so after the commit, and
      reads the records after that. It asks for all marks of *h* that are above
      the revision before, so it finds the record.
    * If the record changes again in the meantime, it has another mark, perhaps
      of another service, and is missing among those of *h*. The same holds for
      that mark: it is found now, or by a later refresh.

    A transaction that raises several services marks its records with one of
    them. Each refresh follows all services, so it does not matter with which.

    What does not fit this reads everything: a revision that became smaller, or
    a service that is gone, because the database may have lost commits; a
    service that is new; and changes that left no mark, of processes of an
    older release.

    :ivar changed: uuids of those that may differ from what :meth:`complete`
        returned before, as new or gone.
    """

    records: Records
    host: str

    def __post_init__(self) -> None:
        self.changed: frozenset[str] = frozenset()
        self._scope: model.Scope | None = None
        self._services: Mapping[str, model.Service] | None = None
        self._known: dict[str, model.ComputeNode] = {}
        # Those whose records are known as well.
        self._nodes = NO_NODES
        # Since the last return of complete(), which may have failed.
        self._changed: set[str] = set()

    def clear(self) -> None:
        """Read everything the next time."""
        self._services = None

    def in_reach(
        self, scope: model.Scope, services: Mapping[str, model.Service]
    ) -> Mapping[str, model.ComputeNode]:
        """Return the records of the service and those last seen in a scope.

        :param services: as they were read before.
        :returns: by uuid, with those that :meth:`complete` read before; the
            same object if nothing has changed.
        :raises RecordsError: if the database does not answer.
        """
        # If this fails, the next call reads everything.
        before, self._services = self._services, None
        since = _since(before, services) if scope == self._scope else None
        if since is None:
            self._nodes = NO_NODES
            self._read_all(scope)
        elif since:
            self._change(self._changes(scope, since))
        self._scope, self._services = scope, services
        return self._known

    def complete(
        self, nodes: Mapping[str, model.Node], changed: Set[str] | None = None
    ) -> tuple[Mapping[str, model.ComputeNode], Set[str]]:
        """Return the records of these nodes as well, wherever they are.

        :param nodes: those without a record are remembered, too.
        :param changed: uuids of the nodes that were not given before;
            ``None`` for any.
        :returns: the records of :meth:`in_reach`, and of these; and the uuids
            of nodes that became its own after :meth:`in_reach`. These may
            differ from the list, so they wait for the next refresh.
        :raises RecordsError: if the database does not answer.
        """
        some: Iterable[str] = nodes
        if changed is not None and self._nodes:
            some = changed | self._changed
        unknown = {u for u in some if u in nodes and u not in self._known}
        more: Iterable[model.ComputeNode] = ()
        if len(unknown) > LOOKED_UP_BY_UUID:
            found = self.records.in_reach(self.host, model.Scope())
            more = (one for one in found if one.uuid in unknown)
        elif unknown:
            more = self.records.compute_nodes_by_uuid(sorted(unknown))
        self._change({record.uuid: record for record in more})
        self._nodes = nodes
        late = {
            uuid
            for uuid in unknown
            if uuid in self._known and self._known[uuid].host == self.host
        }
        self.changed, self._changed = frozenset(self._changed), late
        if not late:
            return self._known, late
        known = self._known
        return {uuid: known[uuid] for uuid in known if uuid not in late}, late

    def _read_all(self, scope: model.Scope) -> None:
        """Read all, but keep what is equal, so that nothing is there twice."""
        before, known = self._known, {}
        for record in self.records.in_reach(self.host, scope):
            same = before.get(record.uuid)
            if same != record:
                self._changed.add(record.uuid)
            known[record.uuid] = same if same == record else record
        self._changed.update(before.keys() - known.keys())
        self._known = known

    def _changes(
        self, scope: model.Scope, since: Mapping[str, int]
    ) -> dict[str, model.ComputeNode | None]:
        """Return the records that changed; ``None`` for one of no concern."""
        return {
            uuid: record
            if record is not None
            and (
                record.host == self.host
                or uuid in self._nodes
                or scope.matches(record.shard, record.conductor_group)
            )
            else None
            for page in self.records.compute_nodes_changed(since)
            for uuid, record in page.items()
        }

    def _change(self, found: Mapping[str, model.ComputeNode | None]) -> None:
        changed = {
            uuid: record
            for uuid, record in found.items()
            if self._known.get(uuid) != record
        }
        if not changed:
            return
        self._changed.update(changed)
        self._known = with_changes(self._known, changed)


def _since(
    before: Mapping[str, model.Service] | None,
    now: Mapping[str, model.Service],
) -> dict[str, int] | None:
    """Return the revisions from which to read; ``None`` to read everything.

    :returns: by service, of those whose records may differ.
    """
    if before is None or before.keys() != now.keys():
        return None
    # Lost commits, or changes that left no mark.
    if any(
        now[host].revision < row.revision or now[host].unmarked != row.unmarked
        for host, row in before.items()
    ):
        return None
    return {
        host: row.revision
        for host, row in before.items()
        if now[host].revision != row.revision
    }


@dataclasses.dataclass(eq=False)
class ReleaseCheck:
    """Reads instances again before the free nodes of a round are released.

    The nodes of a decision were listed up to minutes ago. One that has an
    instance by now stays with its service, which is the only one that may
    have created it.

    :param others: uuids of own nodes outside of the scope.
    """

    others: Collection[str]
    scope: model.Scope
    ironic: BareMetal

    def confirm(self, changes: Iterable[Change]) -> list[Change]:
        """Replace releases of nodes that have an instance by updates.

        Costs nothing without a release; otherwise one list of the nodes with
        an instance in a round, and one request for each released node outside
        of the scope.

        :raises IronicError: if Ironic does not answer; nothing may be
            released.
        """
        confirmed = (
            self._confirmed(change) if isinstance(change, Release) else change
            for change in changes
        )
        return [change for change in confirmed if change is not None]

    def _confirmed(self, change: Release) -> Change | None:
        node = change.node
        if change.uuid in self.others:
            node = self.ironic.get(change.uuid)
        elif node is not None:
            node = dataclasses.replace(
                node, instance_uuid=self._instances.get(change.uuid)
            )
        if node is None:
            return None  # gone meanwhile: for the next refresh
        return Update(node) if node.instance_uuid else change

    @functools.cached_property
    def _instances(self) -> Mapping[str, str]:
        return self.ironic.instances(self.scope)
