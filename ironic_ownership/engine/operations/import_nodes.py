"""Import owners of nodes that are recorded elsewhere.

Each node passes gates, and is recorded in a transaction of its service.
Repeated, an import changes nothing, so one that was interrupted is resumed by
running it again.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection, Iterable, Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, inventory, model
from ironic_ownership.contracts.node_imports import NodeImports
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.gates import GateResult, Outcome, refusals
from ironic_ownership.engine.operations.caller import Caller
from ironic_ownership.engine.ports import Ports

LOG = log.getLogger(__name__)

BATCH = 500
"""Nodes in one transaction: short enough not to block other writers."""

FEW = 20
"""The maximum number of nodes that are read from Ironic one by one."""


class Gate(enum.StrEnum):
    """The gates of an import; the codes are stable."""

    NODE_EXISTS = 'node_exists'
    NOT_OWNED = 'not_owned'
    SERVICE_KNOWN = 'service_known'
    SERVICE_MAY_WRITE = 'service_may_write'
    ADMITTED = 'admitted'


class ImportState(enum.StrEnum):
    """The result for one node; the codes are stable."""

    PLANNED = 'planned'
    IMPORTED = 'imported'
    UNCHANGED = 'unchanged'
    REFUSED = 'refused'


@dataclasses.dataclass(frozen=True)
class Entry:
    """One node and its owner.

    :param uuid: in lower case.
    :param service: canonical name of the owner.
    """

    uuid: str
    service: str


@dataclasses.dataclass(frozen=True)
class ImportedNode:
    """One entry with its result.

    :param node: as Ironic has it; ``None`` if it does not, or nothing is to
        be done.
    :param gates: none for a node that the service owns already.
    """

    entry: Entry
    state: ImportState
    node: model.Node | None = None
    gates: tuple[GateResult, ...] = ()

    @property
    def refused(self) -> list[GateResult]:
        """The gates that forbid it."""
        return refusals(self.gates)


@dataclasses.dataclass(frozen=True)
class _Facts:
    services: Mapping[str, model.Service]
    records: Mapping[str, model.ComputeNode]
    nodes: Mapping[str, model.Node | None]


@dataclasses.dataclass(frozen=True)
class ImportNodes:
    """The operation *import*.

    :param create: create rows of services that are not on record.
    :param sharded: whether every list of nodes has to name a shard: law 4.
    """

    ports: Ports
    imports: NodeImports
    _: dataclasses.KW_ONLY
    create: bool
    sharded: bool

    def propose(self, entries: Sequence[Entry]) -> Sequence[ImportedNode]:
        """Evaluate every gate of every entry; write nothing.

        :param entries: with each uuid once.
        :raises OwnershipError: if the records or Ironic can't be read.
        """
        uuids = [entry.uuid for entry in entries]
        records = self.ports.records
        services = {row.host: row for row in records.services()}
        known = {r.uuid: r for r in records.compute_nodes_by_uuid(uuids)}
        new = [
            entry.uuid
            for entry in entries
            if not _is_done(known.get(entry.uuid), entry)
        ]
        nodes = _read(self.ports.source, new, self.sharded)
        facts = _Facts(services, known, nodes)
        return [self._evaluate(entry, facts) for entry in entries]

    def execute(
        self, proposed: Sequence[ImportedNode], caller: Caller
    ) -> Sequence[ImportedNode]:
        """Record the planned nodes, in batches of one service each.

        :raises OwnershipError: if the database fails; the batches before
            stay imported.
        """
        done: dict[str, ImportedNode] = {}
        by_service: dict[str, list[ImportedNode]] = {}
        for one in proposed:
            if one.state is ImportState.PLANNED:
                by_service.setdefault(one.entry.service, []).append(one)
        for host, chosen in by_service.items():
            for start in range(0, len(chosen), BATCH):
                batch = chosen[start:][:BATCH]
                for result in self._record(host, batch, caller):
                    done[result.entry.uuid] = result
        return [done.get(one.entry.uuid, one) for one in proposed]

    def _record(
        self, host: str, batch: Sequence[ImportedNode], caller: Caller
    ) -> Iterable[ImportedNode]:
        try:
            owned = self.imports.claim(
                host,
                [one.node for one in batch if one.node is not None],
                actor=caller.actor,
                request_id=caller.request_id,
                create=self.create,
            )
        except (exceptions.FencedError, exceptions.NotFoundError) as exc:
            late = GateResult(
                Gate.SERVICE_MAY_WRITE,
                Outcome.FAILED,
                f'changed in the last moment: {exc.args[0]}',
                hint=_REPEAT,
            )
            return [_refused(one, late) for one in batch]
        LOG.info(
            '%s: %s of %s nodes imported for %s',
            caller.request_id,
            len(owned),
            len(batch),
            host,
        )
        late = GateResult(
            Gate.NOT_OWNED,
            Outcome.FAILED,
            'it got an owner in the last moment',
            hint=_REPEAT,
        )
        return [
            dataclasses.replace(one, state=ImportState.IMPORTED)
            if one.entry.uuid in owned
            else _refused(one, late)
            for one in batch
        ]

    def _evaluate(self, entry: Entry, facts: _Facts) -> ImportedNode:
        record = facts.records.get(entry.uuid)
        if _is_done(record, entry):
            return ImportedNode(entry, ImportState.UNCHANGED)
        node = facts.nodes[entry.uuid]
        service = facts.services.get(entry.service)
        results = (
            _node_exists(node),
            _not_owned(record, entry),
            self._service_known(service, entry, facts),
            _service_may_write(service),
            self._admitted(service, node),
        )
        refused = bool(refusals(results))
        return ImportedNode(
            entry,
            ImportState.REFUSED if refused else ImportState.PLANNED,
            node,
            results,
        )

    def _service_known(
        self, service: model.Service | None, entry: Entry, facts: _Facts
    ) -> GateResult:
        if service is not None or self.create:
            return _passed(Gate.SERVICE_KNOWN)
        near = suggestions.nearest(entry.service, list(facts.services))
        return GateResult(
            Gate.SERVICE_KNOWN,
            Outcome.FAILED,
            f'{entry.service} is not on record',
            hint=f'{near}; or add --new-services, if the name is right',
        )

    def _admitted(
        self, service: model.Service | None, node: model.Node | None
    ) -> GateResult:
        """Evaluate the policies of a service that has registered before."""
        if service is None or node is None or not service.settings.policies:
            return _passed(Gate.ADMITTED)
        policies = self.ports.interpret(service.settings)
        try:
            if policies is None or policies.admits(node):
                return _passed(Gate.ADMITTED)
        except exceptions.PluginFaultError as exc:
            return GateResult(
                Gate.ADMITTED,
                Outcome.UNKNOWN,
                str(exc),
                hint='Repair that policy, and repeat the import',
            )
        return GateResult(
            Gate.ADMITTED,
            Outcome.FAILED,
            f'the policies of {service.host} do not admit it',
            hint='Name the service that admits it, or change shard or '
            'conductor group of the node in Ironic',
        )


_REPEAT = 'Repeat the import'


def _is_done(record: model.ComputeNode | None, entry: Entry) -> bool:
    return record is not None and record.host == entry.service


def _passed(gate: Gate) -> GateResult:
    return GateResult(gate, Outcome.PASSED)


def _refused(one: ImportedNode, result: GateResult) -> ImportedNode:
    return dataclasses.replace(
        one,
        state=ImportState.REFUSED,
        gates=tuple(
            result if before.gate is result.gate else before
            for before in one.gates
        ),
    )


def _node_exists(node: model.Node | None) -> GateResult:
    if node is not None:
        return _passed(Gate.NODE_EXISTS)
    return GateResult(
        Gate.NODE_EXISTS,
        Outcome.FAILED,
        'Ironic does not have it',
        hint='Remove it from the list, or correct its uuid',
    )


def _not_owned(record: model.ComputeNode | None, entry: Entry) -> GateResult:
    if record is None or record.host is None:
        return _passed(Gate.NOT_OWNED)
    return GateResult(
        Gate.NOT_OWNED,
        Outcome.FAILED,
        f'{record.host} owns it on record',
        hint='To move it: ironic-ownership compute node move '
        f'{entry.uuid} --service {entry.service}',
    )


def _service_may_write(service: model.Service | None) -> GateResult:
    if service is None or not (service.fenced or service.forced_down):
        return _passed(Gate.SERVICE_MAY_WRITE)
    host = service.host
    what, how = (
        ('is forced down', f'Run "ironic-ownership service set {host} --up"')
        if service.forced_down
        else ('is stopped', 'Start it')
    )
    return GateResult(
        Gate.SERVICE_MAY_WRITE,
        Outcome.FAILED,
        f'{host} {what}',
        hint=f'{how}, and repeat the import when it has registered',
    )


def _read(
    source: inventory.Inventory, uuids: Collection[str], sharded: bool
) -> Mapping[str, model.Node | None]:
    """Read nodes from Ironic: a few one by one, and many by lists."""
    found: dict[str, model.Node | None] = {}
    if len(uuids) > FEW:
        wanted = set(uuids)
        for scope in _scopes(source, sharded):
            found.update(
                (node.uuid, node)
                for node in source.scan(scope)
                if node.uuid in wanted
            )
    for uuid in uuids:
        if uuid not in found:
            found[uuid] = source.get(uuid)
    return found


def _scopes(
    source: inventory.Inventory, sharded: bool
) -> Sequence[model.Scope]:
    if not sharded:
        return [model.Scope()]
    counts = source.shard_counts()
    return [model.Scope(shard=s) for s in sorted(filter(None, counts))]
