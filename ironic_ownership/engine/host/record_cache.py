"""Cache of the records near a service: only what may have changed is read.

Every transaction that changes a record raises the revision of a service, and
marks the record with that service and revision (``db.marks``). A refresh reads
the revisions of all services, and then the records with marks of those that
rose, and of greater revisions than it knew.

Why nothing is missed: a record has the mark of its last change, by a service
*h* with a revision *r*. The row of *h* is locked until the commit, so the
commits that raise it are one after the other, and each reads as greater than
those before.

* A refresh that reads a smaller revision of *h* does not see the change, or
  only by chance. It remembers this smaller revision, so that the mark is new
  for the next one.
* The first refresh that reads *r* or more does so after the commit, and reads
  the records after that. It asks for all marks of *h* that are above the
  revision before, so it finds the record.
* If the record changes again in the meantime, it has another mark, perhaps of
  another service, and is missing among those of *h*. The same holds for that
  mark: it is found now, or by a later refresh.

A transaction that raises several services marks its records with one of them.
Each refresh follows all services, so it does not matter with which.

What does not fit this reads everything: a revision that became smaller, or a
service that is gone, because the database may have lost commits; a service
that is new; and changes that left no mark, of processes of an older release.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)

from ironic_ownership.contracts import compact_forms, model
from ironic_ownership.contracts.compact import CompactMap
from ironic_ownership.engine.ports import Records

LOOKED_UP_BY_UUID = 500
"""Above this number, one query for all records is cheaper than several."""

_NO_NODES = model.Scope(nothing=True)


@dataclasses.dataclass(eq=False)
class RecordCache:
    """The records that one service needs in a refresh.

    Threading: the refresh thread only.
    """

    records: Records
    host: str

    def __post_init__(self) -> None:
        self._scope = _NO_NODES
        self._services: Mapping[str, model.Service] | None = None
        self._known = CompactMap(compact_forms.RecordForm())
        self._complete_for: _Complete | None = None

    def clear(self) -> None:
        """Read everything the next time."""
        self._services = None

    def near(
        self, scope: model.Scope, services: Mapping[str, model.Service]
    ) -> CompactMap[model.ComputeNode]:
        """Return the records of the service and those last seen in a scope.

        :param services: as they were read before.
        :returns: by uuid, with those that :meth:`also` read before; the same
            object if nothing has changed.
        :raises RecordsError: if the database does not answer.
        """
        before, self._services = self._services, None
        since = _since(before, services) if scope == self._scope else None
        if since is None:
            self._known = self.records.near(self.host, scope)
            self._complete_for = None
        elif since:
            for page in self.records.compute_nodes_changed(since):
                self._change(page, scope)
        self._scope, self._services = scope, services
        return self._known

    def also(
        self, nodes: CompactMap[model.Node]
    ) -> tuple[CompactMap[model.ComputeNode], Set[str]]:
        """Return the records of these nodes as well, wherever they are.

        :param nodes: those without a record are remembered, too.
        :returns: the records of :meth:`near`, and of these; and the uuids of
            those that :meth:`near` did not have.
        :raises RecordsError: if the database does not answer.
        """
        more: Sequence[model.ComputeNode] = ()
        unknown = [
            *itertools.islice(self._unknown(nodes), LOOKED_UP_BY_UUID + 1)
        ]
        if len(unknown) > LOOKED_UP_BY_UUID:
            found = self.records.near(self.host, model.Scope())
            more = [found[uuid] for uuid in self._unknown(nodes, found)]
        elif unknown:
            more = self.records.compute_nodes_by_uuid(unknown)
        if more:
            self._known = self._known.changed(more)
        self._complete_for = _Complete(nodes, self._known)
        return self._known, {record.uuid for record in more}

    def _unknown(
        self,
        nodes: CompactMap[model.Node],
        among: Collection[str] | None = None,
    ) -> Iterator[str]:
        """Yield the nodes that have no record here, and may have one.

        :param among: only these; all by default.
        """
        last, known = self._complete_for, self._known
        some: Iterable[str] = nodes
        if last is not None:
            some = nodes.differing(last.nodes)
            some |= known.differing(last.records)
        for uuid in some:
            if (
                uuid not in known
                and uuid in nodes
                and (among is None or uuid in among)
            ):
                yield uuid

    def _change(
        self,
        page: Mapping[str, model.ComputeNode | None],
        scope: model.Scope,
    ) -> None:
        asked = self._complete_for.nodes if self._complete_for else ()
        put, drop = [], []
        for uuid, record in page.items():
            if record is not None and (
                record.host == self.host
                or uuid in asked
                or scope.matches(record.shard, record.conductor_group)
            ):
                # The same text where nothing differs.
                if self._known.get(uuid) != record:
                    put.append(record)
            elif uuid in self._known:
                drop.append(uuid)
        if put or drop:
            self._known = self._known.changed(put, drop)


@dataclasses.dataclass(frozen=True)
class _Complete:
    """Records among which are all those of some nodes."""

    nodes: CompactMap[model.Node]
    records: CompactMap[model.ComputeNode]


def _since(
    before: Mapping[str, model.Service] | None,
    now: Mapping[str, model.Service],
) -> dict[str, int] | None:
    """Return the revisions from which to read; ``None`` to read everything.

    :returns: by service, of those whose records may differ.
    """
    if before is None or before.keys() != now.keys():
        return None
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
