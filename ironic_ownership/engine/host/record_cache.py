"""Cache of the records near a service: only what may have changed is read.

Every transaction that changes what is on record for a service raises the
revision of the service's row, in the same commit. So the records of a service
whose revision is the same are the same. The revisions are read before the
records: a commit in between is read twice, and none is lost, however late it
becomes visible. A record without an owner changes with a claim, which raises
the revision of the claimer; only its deletion raises none, and is found by the
next refresh that reads everything.

A record whose owner came and went since the last read has no owner again, and
may have been unknown before. So what has no owner and changed since then is
read as well.
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
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.membership import fence

LOOKED_UP_BY_UUID = 500
"""Above this number, one query for all records is cheaper than several."""

MOST_SERVICES = 20
"""Changed services whose records are read one by one; above, all are."""

OVERLAP = 300.0
"""Seconds before the last read from which unowned records are read again: the
longest transaction, and the difference of the clocks of database servers."""

_NO_NODES = model.Scope(nothing=True)


@dataclasses.dataclass(eq=False)
class RecordCache:
    """The records that one service needs in a refresh.

    Threading: the refresh thread only.
    """

    records: Records
    host: str
    clock: fence.Clock = fence.monotonic

    def __post_init__(self) -> None:
        self._read_at = float('-inf')
        self._scope = _NO_NODES
        self._revisions: Mapping[str, int] | None = None
        self._known = CompactMap(compact_forms.RecordForm())
        self._complete_for: _Complete | None = None

    def clear(self) -> None:
        """Read everything the next time."""
        self._revisions = None

    def near(
        self, scope: model.Scope, services: Mapping[str, model.Service]
    ) -> CompactMap[model.ComputeNode]:
        """Return the records of the service and those last seen in a scope.

        :param services: as they were read before.
        :returns: by uuid, with those that :meth:`also` read before; the same
            object if nothing has changed.
        :raises RecordsError: if the database does not answer.
        """
        before, self._revisions = self._revisions, None
        since, self._read_at = self._read_at, self.clock()
        now = {host: row.revision for host, row in services.items()}
        changed = _changed(before, now) if scope == self._scope else None
        if changed is None or len(changed) > MOST_SERVICES:
            self._known = self.records.near(self.host, scope)
            self._complete_for = None
        elif changed:
            age = self._read_at - since
            self._read_again(changed, scope, age + OVERLAP)
        self._scope, self._revisions = scope, now
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

    def _read_again(
        self, hosts: Collection[str], scope: model.Scope, period: float
    ) -> None:
        read = _by_uuid(self.records.compute_nodes_unowned(period))
        for host in sorted(hosts):
            read |= {
                record.uuid: record
                for record in self.records.compute_nodes_near(host, _NO_NODES)
                if record.host == host
            }
        left = [
            record.uuid
            for record in self._known.values()
            if record.host in hosts and record.uuid not in read
        ]
        if left:
            read |= _by_uuid(self.records.compute_nodes_by_uuid(left))
        asked = self._complete_for.nodes if self._complete_for else ()
        put, drop = [], set(left)
        for uuid, record in read.items():
            if (
                record.host == self.host
                or uuid in asked
                or scope.matches(record.shard, record.conductor_group)
            ):
                drop.discard(uuid)
                # The same text where nothing differs.
                if self._known.get(uuid) != record:
                    put.append(record)
            else:
                drop.add(uuid)
        self._known = self._known.changed(put, drop)


@dataclasses.dataclass(frozen=True)
class _Complete:
    """Records among which are all those of some nodes."""

    nodes: CompactMap[model.Node]
    records: CompactMap[model.ComputeNode]


def _changed(
    before: Mapping[str, int] | None, now: Mapping[str, int]
) -> set[str] | None:
    """Return the services whose records may differ; ``None`` for any.

    A revision that became smaller, or a service that is gone, means that the
    database may have lost commits.
    """
    if before is None or any(
        now.get(host, -1) < revision for host, revision in before.items()
    ):
        return None
    return {
        host for host, revision in now.items() if before.get(host) != revision
    }


def _by_uuid(
    records: Iterable[model.ComputeNode],
) -> dict[str, model.ComputeNode]:
    return {record.uuid: record for record in records}
