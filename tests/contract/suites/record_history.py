"""Histories of the records: what services and operators may write, drawn.

hypothesis draws steps, and :class:`History` carries them out. Those that do
not fit the records are refused, as they are between two processes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator
from unittest import mock

import sqlalchemy as sa
from hypothesis import strategies as st

from ironic_ownership.contracts import exceptions, model, moves
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Delete,
    Release,
    Report,
    SeenOwner,
    Update,
)
from ironic_ownership.db import connection, purge, tables, transaction
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.reservations import SqlReservations
from ironic_ownership.engine.ports import Records
from tests.contract.suites import records, reservations

HOSTS = ('host1', 'host2', 'host3')
NODES = range(1, 5)


@dataclasses.dataclass(frozen=True)
class Step:
    """One transaction, or a few; what it does not need it does not use.

    :param is_read: whether a refresh follows.
    """

    kind: str
    host: str
    number: int
    shard: str
    has_instance: bool
    is_read: bool


@contextlib.contextmanager
def release_without_marks() -> Iterator[None]:
    """Write as a release before the marks; others have them already."""
    raised = {'revision': tables.services.c.revision + 1}
    none = {'revision_host': None, 'revision': None}
    with (
        mock.patch.object(transaction, 'RAISED', raised),
        mock.patch.object(transaction, 'mark', lambda services: dict(none)),
    ):
        yield


def wipe(database: connection.Database) -> None:
    """Delete all rows but those of the schema."""

    def work(conn: sa.Connection) -> None:
        for table in reversed(tables.metadata.sorted_tables):
            if table is not tables.schema_compatibility:
                conn.execute(sa.delete(table))

    database.write(work)


class History:
    """Services that own a node each, with an instance, and operators."""

    def __init__(self, database: connection.Database, stored: Records) -> None:
        wipe(database)
        self.database, self.records = database, stored
        self.moves = SqlMoves(database)
        self.reservations = SqlReservations(database)
        self._numbers = itertools.count()
        self._reserved: dict[int, str] = {}
        self.epochs = {host: self._register(host) for host in HOSTS}
        for number, host in zip(NODES, HOSTS, strict=False):
            claim = records.claim(
                number, shard='a', instance_uuid=records.uuid(900 + number)
            )
            self.records.apply(host, self.epochs[host], [claim])

    def carry_out(self, step: Step) -> None:
        """Do what a step says, if the records allow it."""
        try:
            getattr(self, f'do_{step.kind}')(step)
        except exceptions.FencedError:
            self.do_register(step)
        except exceptions.OwnershipError:
            pass

    def do_claim(self, step: Step) -> None:
        seen = self._seen(step.number)
        owner = (seen.source, seen.source_epoch) if seen else (None, None)
        claim = Claim(self._node(step), Reason.EXCLUSIVE, *owner)
        self._apply(step.host, claim)

    def do_old_claim(self, step: Step) -> None:
        with release_without_marks():
            self.do_claim(step)

    def do_update(self, step: Step) -> None:
        self._by_owner(step, Update(self._node(step)))

    def do_deploy(self, step: Step) -> None:
        """Change the instance, and nothing else."""
        found = self._find(step.number)
        if found is not None:
            same = {'name': found.name, 'shard': found.shard}
            self._by_owner(step, Update(self._node(step, **same)))

    def do_release(self, step: Step) -> None:
        self._by_owner(step, Release(records.uuid(step.number)))

    def do_forget(self, step: Step) -> None:
        self._by_owner(step, Delete(records.uuid(step.number)))

    def do_report(self, step: Step) -> None:
        uuid, digest = records.uuid(step.number), self._new('digest')
        self._by_owner(step, Report(uuid, digest))

    def do_pass_through(self, step: Step) -> None:
        """Own a node between two reads."""
        self.do_claim(step)
        self.do_release(step)

    def do_move(self, step: Step) -> None:
        node = self._seen(step.number)
        if node is None:
            return
        is_known = node.source and self.records.service(node.source)
        if is_known:
            self._force_down(node.source, True)
            node = self._seen(step.number)
        request = self._new('req')
        self.moves.plan(moves.Move(request, step.host, 'operator'), [node])
        self.moves.carry_out(request, [node])
        if is_known:
            self._force_down(node.source, False)

    def _force_down(self, host: str, is_down: bool) -> None:
        self.records.set_service(host, actor='operator', forced_down=is_down)

    def do_hand_over(self, step: Step) -> None:
        node, request = self._seen(step.number), self._new('req')
        if node is not None:
            self.moves.release([node], moves.HandOver(request, 'operator', 60))
            if step.has_instance:
                self.moves.end_release(request, [node.uuid])

    def do_remove(self, step: Step) -> None:
        node = self._seen(step.number)
        if node is not None:
            seen = SeenOwner(node.source, node.source_epoch)
            self.records.begin_deletion(node.uuid, seen)
            if not step.has_instance:
                self.records.remove(node.uuid, seen, Origin('operator'))

    def do_forget_instance(self, step: Step) -> None:
        node = self._seen(step.number)
        if node is not None and node.instance_uuid is not None:
            self.records.forget_instance(
                node.uuid,
                node.instance_uuid,
                SeenOwner(node.source, node.source_epoch),
                Origin('operator', reason='gone'),
            )

    def do_import(self, step: Step) -> None:
        self.records.import_nodes(
            step.host,
            [self._node(step)],
            Origin('operator'),
            create=step.has_instance,
        )

    def do_reserve(self, step: Step) -> None:
        number = next(self._numbers)
        wanted = reservations.wanted(number, host=step.host)
        begun = self.reservations.begin(wanted)
        self.reservations.activate(
            begun.id,
            self._node(step, instance_uuid=None),
            epoch=self.epochs.get(step.host, 0),
        )
        self._reserved[step.number] = begun.id

    def do_end_reservation(self, step: Step) -> None:
        made = self._reserved.pop(step.number, None)
        if made is not None:
            self.reservations.close(made, 'not wanted')

    def do_purge(self, step: Step) -> None:
        purge.run(self.database, purge.now(self.database) + 1)

    def do_register(self, step: Step) -> None:
        self.epochs[step.host] = self._register(step.host)

    def do_delete_service(self, step: Step) -> None:
        self.records.delete_service(step.host, actor='operator')

    def do_lose_service(self, step: Step) -> None:
        """Leave what it owns to no service, as a restored backup may do."""
        services = tables.services
        self.database.write(
            lambda conn: conn.execute(
                sa.delete(services).where(services.c.host == step.host)
            )
        )

    def _apply(self, host: str, change: Change) -> None:
        self.records.apply(host, self.epochs.get(host, 0), [change])

    def _by_owner(self, step: Step, change: Change) -> None:
        found = self._find(step.number)
        owner = found.host if found else None
        self._apply(owner or step.host, change)

    def _register(self, host: str) -> int:
        return self.records.register(host, records.SETTINGS)

    def _node(self, step: Step, **values: str | None) -> model.Node:
        number = 900 + step.number
        described = {
            'name': self._new('name'),
            'shard': step.shard,
            'instance_uuid': records.uuid(number)
            if step.has_instance
            else None,
        }
        return records.node(step.number, **{**described, **values})

    def _find(self, number: int) -> model.ComputeNode | None:
        found = self.records.compute_nodes_by_uuid([records.uuid(number)])
        return found[0] if found else None

    def _seen(self, number: int) -> moves.NodeMove | None:
        found = self._find(number)
        if found is None:
            return None
        service = self.records.service(found.host) if found.host else None
        epoch = service.epoch if service else None
        return moves.NodeMove(
            found.uuid, found.host, epoch, found.instance_uuid
        )

    def _new(self, what: str) -> str:
        return f'{what}-{next(self._numbers)}'


RARE = (
    'delete_service',
    'lose_service',
    'old_claim',
    'purge',
    'register',
)
"""After these everything is read, or the other steps find no service."""

KINDS = sorted(
    name.removeprefix('do_')
    for name in vars(History)
    if name[:3] == 'do_' and name[3:] not in RARE
)

STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from((*KINDS, *KINDS, *RARE)),
        st.sampled_from(HOSTS),
        st.sampled_from(NODES),
        st.sampled_from('ab'),
        st.booleans(),
        st.booleans(),
    ),
    min_size=20,
    max_size=40,
)
