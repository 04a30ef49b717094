"""Choice of random transactions that depend on each other."""

from __future__ import annotations

import dataclasses
import random
import threading
import uuid as uuid_module
from collections.abc import Callable, Sequence

from sqlalchemy import event

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.moves import HandOver, Move, NodeMove
from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Delete,
    Release,
    Report,
    SeenOwner,
    Update,
)
from ironic_ownership.contracts.reservations import Request, Reservation
from ironic_ownership.db import (
    connection,
    moves,
    records,
    reservations,
)
from lab import committed_order

HOSTS = ('host1', 'host2')
NODES = tuple(f'00000000-0000-0000-0000-{n:012d}' for n in range(4))
SETTINGS = model.MemberSettings()
_ASSIGNED = reasons.Reason.ASSIGNED

_LONGEST_WAIT = 0.2
"""Seconds for which a commit waits for the others."""

_AGAINST = 0.7
"""Share of the transactions that are directed against that service."""

_HELD = 3600.0
"""Seconds for which a node is handed over: no hand-over expires."""

Operation = Callable[['Ports'], object]


@dataclasses.dataclass
class Ports:
    """The ports to the records through one node of the cluster."""

    database: connection.Database

    def __post_init__(self) -> None:
        self.records = records.SqlRecords(self.database)
        self.moves = moves.SqlMoves(self.database)
        self.reservations = reservations.SqlReservations(self.database)
        self.common: CommonCommit | None = None
        event.listen(self.database.engine, 'commit', self._before_commit)

    def _before_commit(self, conn: object) -> None:
        if self.common is not None:
            self.common.wait()


class CommonCommit:
    """Lets the transactions of some threads commit at the same moment.

    Only then the commits cross each other on their way between the nodes. A
    thread waits until each of the others commits as well, or has ended.
    """

    def __init__(self, threads: int) -> None:
        self._changed = threading.Condition()
        self._running, self._waiting, self._number = threads, 0, 0

    def wait(self) -> None:
        """Wait for the commits of the others; not for long."""
        with self._changed:
            number = self._number
            self._waiting += 1
            self._release()
            # One that waits for a lock of another one cannot commit.
            if not self._changed.wait_for(
                lambda: self._number != number, _LONGEST_WAIT
            ):
                self._waiting -= 1

    def end(self) -> None:
        """Take note that a thread has ended."""
        with self._changed:
            self._running -= 1
            self._release()

    def _release(self) -> None:
        if 0 < self._running <= self._waiting:
            self._number += 1
            self._waiting = 0
            self._changed.notify_all()


@dataclasses.dataclass
class State:
    """The records as the choice of a round sees them."""

    services: dict[str, model.Service]
    nodes: dict[str, model.ComputeNode]
    reservations: Sequence[Reservation]


class Choice:
    """Chooses the transactions of each round by a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        # Nodes that a request has released, and what is left to do for it.
        self._held: dict[str, tuple[str, NodeMove]] = {}

    def against(self, state: State, focus: str) -> tuple[str, Operation]:
        """Choose what takes the right, or a node, from a service; mostly."""
        chance = self.random.random()
        service = state.services.get(focus)
        owned = [n for n in state.nodes.values() if n.host == focus]
        if service is None or chance > _AGAINST:
            return self.choose(state, self.random.choice(HOSTS))
        if not owned or chance < _AGAINST / 2:
            return self._by_operator(state, service)
        (other,) = (host for host in HOSTS if host != focus)
        if other not in state.services:
            return 'register', lambda p: p.records.register(other, SETTINGS)
        taker = state.services[other]
        node = self.random.choice(owned)
        described = model.Node(node.uuid, name=f'{other}@{taker.epoch}')
        return self._apply(
            'claim of another',
            taker,
            Claim(described, _ASSIGNED, focus, service.epoch),
        )

    def choose(self, state: State, host: str) -> tuple[str, Operation]:
        """Choose a transaction of a service, or of an operator on it."""
        service = state.services.get(host)
        if service is None or (
            service.fenced
            and not service.forced_down
            and self.random.random() < 0.7
        ):
            return 'register', lambda p: p.records.register(host, SETTINGS)
        if self.random.random() < 0.15:
            return self._by_operator(state, service)
        return self._by_service(state, service)

    def _by_operator(
        self, state: State, service: model.Service
    ) -> tuple[str, Operation]:
        host, actor = service.host, committed_order.OPERATOR
        kind = self.random.choice(
            (
                *('force down', 'take up', 'disable', 'fail over', 'delete'),
                *('move', 'move', 'move', 'remove', 'remove', 'retire'),
                *('hand over', 'hand over', 'hand over', 'forget instance'),
            )
        )
        node = state.nodes.get(self.random.choice(NODES))
        owner = state.services.get(node.host or '') if node else None
        epoch = owner.epoch if owner else None
        others: dict[str, Operation] = {
            'force down': lambda p: p.records.set_service(
                host, actor=actor, forced_down=True
            ),
            'take up': lambda p: p.records.set_service(
                host, actor=actor, forced_down=False, disabled=False
            ),
            'disable': lambda p: p.records.set_service(
                host, actor=actor, disabled=True
            ),
            'fail over': lambda p: p.records.fail_over(
                host, incarnation='other', actor=actor
            ),
            'delete': lambda p: p.records.delete_service(host, actor=actor),
            'retire': lambda p: p.records.retire(host, service.epoch, grace=0),
        }
        if kind in others:
            return kind, others[kind]
        if node is None:
            return 'take up', others['take up']
        seen = SeenOwner(node.host, epoch), Origin(actor, reason='gone')
        on_node: dict[str, Operation] = {
            'remove': lambda p: p.records.remove(node.uuid, *seen),
            'forget instance': lambda p: (
                p.records.forget_instance(
                    node.uuid, str(node.instance_uuid), *seen
                )
                is None
            ),
            'move': lambda p: _move(p, _planned(node, epoch), host),
            'hand over': lambda p: self._hand_over(
                p, _planned(node, epoch), host
            ),
        }
        if node.host is None and node.uuid in self._held:
            return self._after_hand_over(*self._held.pop(node.uuid))
        return kind, on_node[kind]

    def _hand_over(self, ports: Ports, planned: NodeMove, host: str) -> bool:
        request = _plan(ports, planned, host)
        hand_over = HandOver(request, committed_order.OPERATOR, _HELD)
        if ports.moves.release([planned], hand_over):
            return False
        self._held[planned.uuid] = request, planned
        return True

    def _after_hand_over(
        self, request: str, planned: NodeMove
    ) -> tuple[str, Operation]:
        if self.random.random() < 0.3:
            return 'end hand-over', lambda p: _end_hand_over(
                p, request, planned
            )
        return (
            'move after hand-over',
            lambda p: (
                _carry_out(p, request, planned)
                or _end_hand_over(p, request, planned)
            ),
        )

    def _by_service(
        self, state: State, service: model.Service
    ) -> tuple[str, Operation]:
        host = service.host
        node = state.nodes.get(uuid := self.random.choice(NODES))
        described = model.Node(uuid, name=f'{host}@{service.epoch}')
        owner = node.host if node else None
        if self.random.random() < 0.1:
            (dead,) = (one for one in HOSTS if one != host)
            seen = state.services[dead].epoch if dead in state.services else 0
            return 'death of another', lambda p: p.records.record_death(
                host, service.epoch, dead, seen, 'no beat'
            )
        if owner is None:
            chance = self.random.random()
            if chance < 0.3:
                return 'reserve', _reserve(service, described)
            if chance < 0.4:
                # Without a name: an import has no epoch.
                by = Origin(committed_order.OPERATOR)
                return (
                    'import',
                    lambda p: (
                        not p.records.import_nodes(
                            host, [model.Node(uuid)], by
                        )
                    ),
                )
            return self._apply(
                'claim free', service, Claim(described, _ASSIGNED)
            )
        if owner != host and node and node.instance_uuid:
            # Only its owner, or an operator, can do anything with it.
            service = state.services.get(owner, service)
            host = service.host
            described = dataclasses.replace(
                described, name=f'{host}@{service.epoch}'
            )
        if owner != host:
            other = state.services.get(owner)
            epoch = other.epoch if other else None
            return self._apply(
                'claim of another',
                service,
                Claim(described, _ASSIGNED, owner, epoch),
            )
        mine = [r for r in state.reservations if r.node_uuid == uuid]
        if mine:
            (one, *_) = mine
            if self.random.random() < 0.3:
                return (
                    'delete reservation',
                    lambda p: p.reservations.begin_deletion(
                        one.id, 'over', epoch=service.epoch
                    ),
                )
            return 'end reservation', lambda p: p.reservations.close(
                one.id, 'over', epoch=service.epoch
            )
        instance = (
            None if node and node.instance_uuid else str(_new(self.random))
        )
        changed = dataclasses.replace(described, instance_uuid=instance)
        changes: dict[str, Change] = {
            'release': Release(uuid),
            'forget': Delete(uuid),
            'report': Report(uuid, 'digest'),
            'instance': Update(changed),
        }
        kind = self.random.choice((*changes, 'instance'))
        return self._apply(kind, service, changes[kind])

    @staticmethod
    def _apply(
        kind: str, service: model.Service, change: Change
    ) -> tuple[str, Operation]:
        def apply(ports: Ports) -> bool:
            done = ports.records.apply(service.host, service.epoch, [change])
            return bool(done.applied)

        return kind, apply


def _new(source: random.Random) -> uuid_module.UUID:
    return uuid_module.UUID(int=source.getrandbits(128))


def _planned(node: model.ComputeNode, epoch: int | None) -> NodeMove:
    return NodeMove(node.uuid, node.host, epoch, node.instance_uuid)


def _plan(ports: Ports, planned: NodeMove, host: str) -> str:
    request = f'req-{uuid_module.uuid4()}'
    ports.moves.plan(Move(request, host, committed_order.OPERATOR), [planned])
    return request


def _carry_out(ports: Ports, request: str, planned: NodeMove) -> bool:
    (done,) = ports.moves.carry_out(request, [planned])
    return done.state == 'moved'


def _move(ports: Ports, planned: NodeMove, host: str) -> bool:
    return _carry_out(ports, _plan(ports, planned, host), planned)


def _end_hand_over(ports: Ports, request: str, planned: NodeMove) -> bool:
    ports.moves.end_release(request, [planned.uuid])
    return True


def _reserve(service: model.Service, node: model.Node) -> Operation:
    def reserve(ports: Ports) -> None:
        instance = str(uuid_module.uuid4())
        wanted = Reservation(
            str(uuid_module.uuid4()),
            instance,
            service.host,
            Request(instance, service.host),
        )
        begun = ports.reservations.begin(wanted)
        ports.reservations.activate(begun.id, node, epoch=service.epoch)

    return reserve
