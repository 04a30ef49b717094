"""Import owners of nodes that are recorded elsewhere.

Each node passes gates, and is recorded in a transaction of its service.
Repeated, an import changes nothing, so one that was interrupted is resumed by
running it again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.engine import gates, suggestions
from ironic_ownership.engine.changes.selection import FEW, NodeReader
from ironic_ownership.engine.gates import Gate, GateResult, Result

LOG = log.getLogger(__name__)

RESULTS = (Result.PLANNED, Result.IMPORTED, Result.UNCHANGED, Result.REFUSED)
"""The results for one node."""


@dataclasses.dataclass(frozen=True)
class ImportEntry:
    """One node and its owner.

    :param uuid: in lower case.
    :param service: canonical name of the owner.
    """

    uuid: str
    service: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImportedNode(gates.Item):
    """One entry with its result.

    :param node: as Ironic has it; ``None`` if it does not, or nothing is to
        be done.
    """

    entry: ImportEntry
    node: model.Node | None = None


@dataclasses.dataclass(frozen=True)
class ImportCase:
    """One entry, and what is known about it."""

    operation: ImportNodes
    entry: ImportEntry
    record: model.ComputeNode | None
    node: model.Node | None
    service: model.Service | None
    hosts: Sequence[str]

    @property
    def nearest(self) -> str:
        """The services with similar names."""
        return suggestions.nearest(self.entry.service, self.hosts)

    @property
    def start(self) -> str:
        """The action after which the service may write."""
        if self.service is not None and self.service.forced_down:
            host = self.service.host
            return f'Run "ironic-ownership service set {host} --up"'
        return 'Start it'


def _not_owned(case: ImportCase) -> str | None:
    owner = case.record.host if case.record else None
    return owner and f'{owner} owns it on record'


def _service_known(case: ImportCase) -> str | None:
    if case.service is not None or case.operation.create:
        return None
    return f'{case.entry.service} is not on record'


def _service_may_write(case: ImportCase) -> str | None:
    service = case.service
    if service is None or not (service.fenced or service.forced_down):
        return None
    what = 'forced down' if service.forced_down else 'stopped'
    return f'{service.host} is {what}'


def _admitted(case: ImportCase) -> str | None:
    """Evaluate the policies of a service that has registered before."""
    service, node = case.service, case.node
    if service is None or node is None or not service.settings.policies:
        return None
    policies = case.operation.ports.interpret(service.settings)
    if policies is None or policies.admits_in_time(node):
        return None
    return f'the policies of {service.host} do not admit it'


_REPEAT = (
    'Repeat the import; if it is refused again, see "ironic-ownership move '
    'list --unfinished", and next to a Nova cell "ironic-ownership nova check"'
)
NOT_OWNED: Gate[ImportCase] = Gate(
    'not_owned',
    'no service owns it on record',
    'To move it: ironic-ownership compute node move {case.entry.uuid} '
    '--to {case.entry.service}',
    _not_owned,
)
SERVICE_MAY_WRITE: Gate[ImportCase] = Gate(
    'service_may_write',
    'the service is neither stopped nor forced down',
    '{case.start}, and repeat the import when it has registered',
    _service_may_write,
)
GATES: tuple[Gate[ImportCase], ...] = (
    Gate(
        'node_exists',
        'Ironic has the node',
        'Remove it from the list, or correct its uuid',
        lambda case: None if case.node else 'Ironic does not have it',
    ),
    NOT_OWNED,
    Gate(
        'service_known',
        'the service is on record',
        '{case.nearest}; or add --new-services, if the name is right',
        _service_known,
    ),
    SERVICE_MAY_WRITE,
    Gate(
        'admitted',
        'the policies of the service admit the node',
        'Name the service that admits it, or change shard or conductor group '
        'of the node in Ironic',
        _admitted,
        unknown_hint='Repair that policy, and repeat the import',
    ),
)
"""The gates of an import, none of which can be overridden."""


@dataclasses.dataclass(frozen=True)
class ImportNodes(NodeReader):
    """The operation *import*.

    :param create: create rows of services that are not on record.
    """

    _: dataclasses.KW_ONLY
    create: bool

    def propose(
        self, entries: Sequence[ImportEntry]
    ) -> Sequence[ImportedNode]:
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
        ironic, hosts = self.ports.ironic, list(services)
        shards: Collection[str | None] = {None}
        if len(new) > FEW and self.sharded():
            shards = ironic.shard_counts()
        nodes = self.read_nodes(new, shards)
        return [
            _evaluate(
                ImportCase(
                    self,
                    entry,
                    known.get(entry.uuid),
                    nodes.get(entry.uuid),
                    services.get(entry.service),
                    hosts,
                )
            )
            for entry in entries
        ]

    def execute(
        self, proposed: Sequence[ImportedNode], origin: Origin
    ) -> Sequence[ImportedNode]:
        """Record the planned nodes, in batches of one service each.

        :raises OwnershipError: if the database fails; the batches before
            stay imported.
        """
        done: dict[str, ImportedNode] = {}
        by_service: dict[str, list[ImportedNode]] = {}
        for one in proposed:
            if one.result is Result.PLANNED:
                by_service.setdefault(one.entry.service, []).append(one)
        for host, chosen in by_service.items():
            for batch in gates.batches(chosen):
                results = self._record(host, batch, origin)
                done |= {result.entry.uuid: result for result in results}
        return [done.get(one.entry.uuid, one) for one in proposed]

    def _record(
        self, host: str, batch: Sequence[ImportedNode], origin: Origin
    ) -> Iterable[ImportedNode]:
        gate = NOT_OWNED
        try:
            refused = self.ports.records.import_nodes(
                host,
                [one.node for one in batch if one.node is not None],
                origin,
                create=self.create,
            )
        except (exceptions.FencedError, exceptions.NotFoundError) as exc:
            gate = SERVICE_MAY_WRITE
            detail = f'changed in the last moment: {exc.args[0]}'
            refused = {one.entry.uuid: detail for one in batch}
        LOG.info(
            '%s: %s of %s nodes imported for %s',
            origin.request_id,
            len(batch) - len(refused),
            len(batch),
            host,
        )
        failed = gates.Outcome.FAILED
        return [
            one.refused_by(GateResult(gate.code, failed, why, hint=_REPEAT))
            if (why := refused.get(one.entry.uuid))
            else dataclasses.replace(one, result=Result.IMPORTED)
            for one in batch
        ]


def _evaluate(case: ImportCase) -> ImportedNode:
    if _is_done(case.record, case.entry):
        return ImportedNode(result=Result.UNCHANGED, entry=case.entry)
    results = gates.evaluate(GATES, case)
    return ImportedNode(
        result=gates.proposed(results, Result.PLANNED),
        gates=results,
        entry=case.entry,
        node=case.node,
    )


def _is_done(record: model.ComputeNode | None, entry: ImportEntry) -> bool:
    return record is not None and record.host == entry.service
