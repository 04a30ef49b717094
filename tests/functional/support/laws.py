"""Prove the laws of ownership from the history on record.

Replays the history from its first event: each event must follow from those
before it, and their result must be the records. Reads records only, so it
holds for every database. Facts without an event, such as the end of a
membership, are added by the tests as evidence.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventKind
from ironic_ownership.db.records import SqlRecords

_BY_OPERATORS = (
    EventKind.SERVICE_CHANGED,
    EventKind.SERVICE_FORCED_DOWN,
    EventKind.SERVICE_DELETED,
    EventKind.NODE_MOVED,
    EventKind.NODE_HANDED_OVER,
    EventKind.SERVICE_FAILED_OVER,
)
_RESERVATIONS = (EventKind.NODE_RESERVED, EventKind.NODE_RELEASED)
_GRACE = 'restart_grace='

RINGS = frozenset({'peer_list'})
"""Ours; what third parties bring, a test names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lapse:
    """An observer saw that no process of a host had the right to act.

    :param event_id: of the last event then, zero if there was none.
    """

    host: str
    event_id: int


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Evidence of a test besides the records.

    :param lapses: in any order.
    :param writers: the process that wrote each event, by the event's id;
        empty where that is unknown.
    :param rings: names of the policies by which services share nodes.
    :param order: ids of the events in the order of their commits, where the
        ids do not tell: several servers number them.
    """

    lapses: Sequence[Lapse] = ()
    writers: Mapping[int, str] = dataclasses.field(default_factory=dict)
    rings: Collection[str] = RINGS
    order: Sequence[int] = ()


def violations(
    source: SqlRecords, evidence: Evidence | None = None
) -> list[str]:
    """Return one sentence for each broken law; none is what is expected."""
    evidence = evidence or Evidence()
    replay = _Replay(source, evidence)
    # One server assigns ids in the order of commits, as far as rows conflict;
    # its clock may be set back.
    events = {e.id: e for e in source.events(limit=1_000_000)}
    for event_id in evidence.order or sorted(events):
        replay.follow(events.pop(event_id))
    replay.found += [f'not in the order: {e}' for e in events.values()]
    replay.compare(source)
    return replay.found


class _Replay:
    """The state of all nodes at one event of the history."""

    def __init__(self, source: SqlRecords, evidence: Evidence) -> None:
        self.found: list[str] = []
        self._lapses = sorted(evidence.lapses, key=lambda x: -x.event_id)
        self._writers = evidence.writers
        self._rings = evidence.rings
        self._active: dict[str, str | None] = {}
        self._lapsed: set[str] = set()
        self._away_until: dict[str | None, float] = {}
        self._settings = {s.host: s.settings for s in source.services()}
        self._may_write: set[str] = set()
        self._forced_down: set[str] = set()
        self._owner: dict[str | None, str | None] = {}
        self._instance: dict[str | None, str | None] = {}
        self._moved_by: dict[str | None, str | None] = {}

    def follow(self, event: model.Event) -> None:
        while self._lapses and self._lapses[-1].event_id < event.id:
            self._lapsed.add(self._lapses.pop().host)
        kind, by_service = event.kind, event.actor in self._settings
        if kind == EventKind.SERVICE_REGISTERED:
            self._follow_registration(event)
        elif kind in _BY_OPERATORS or (
            kind == EventKind.SERVICE_FENCED and event.request_id
        ):
            self._follow_operator(event)
        elif kind == EventKind.NODE_FORGOTTEN and not by_service:
            self._follow_removal(event)
        else:
            # Reservations are ended by others, too.
            if by_service or kind not in _RESERVATIONS:
                self._check_writer(event)
            self._follow_service(event)

    def _follow_service(self, event: model.Event) -> None:
        match event.kind:
            case EventKind.SERVICE_RETIRED:
                self._follow_retirement(event)
            case EventKind.SERVICE_FENCED:
                self._may_write.discard(str(event.from_host))
            case EventKind.OWNER_CHANGED | EventKind.NODE_FORGOTTEN:
                self._follow_owner(event)
            case EventKind.NODE_RESERVED | EventKind.NODE_RELEASED:
                self._follow_reservation(event)
            case (
                EventKind.INSTANCE_OPENED
                | EventKind.INSTANCE_CLOSED
                | EventKind.AVAILABILITY_CHANGED
            ):
                self._follow_instance(event)
            case EventKind.SERVICE_DIED:
                pass
            case EventKind.NODES_TAKEN_OVER:
                self._check(
                    event,
                    {
                        'law 1: nodes were taken from a service that may '
                        'write': event.from_host not in self._may_write
                    },
                )
            case _:
                self._check(event, {'unknown kind': False})

    def _check_writer(self, event: model.Event) -> None:
        """See that a service writes only with a right that it has now."""
        host = event.actor
        retires_down = (
            event.kind == EventKind.SERVICE_RETIRED
            and host in self._forced_down
        )
        writer, active = self._writers.get(event.id), self._active.get(host)
        self._check(
            event,
            {
                'law 1: actor is fenced': (
                    host in self._may_write or retires_down
                ),
                'law 1: the right of the actor had lapsed': (
                    host not in self._lapsed
                ),
                f'law 1: written by {writer}, while {active} is active': (
                    writer == active
                ),
            },
        )

    def _follow_registration(self, event: model.Event) -> None:
        host = event.actor
        if host not in self._forced_down:
            self._may_write.add(host)
        self._lapsed.discard(host)
        self._away_until.pop(host, None)
        self._active[host] = self._writers.get(event.id)

    def _follow_retirement(self, event: model.Event) -> None:
        self._may_write.discard(event.actor)
        reason = event.reason or ''
        if reason.startswith(_GRACE):
            grace = float(reason.removeprefix(_GRACE))
            self._away_until[event.actor] = event.at + grace

    def _follow_operator(self, event: model.Event) -> None:
        host = str(event.from_host)
        match event.kind:
            case EventKind.SERVICE_FENCED | EventKind.SERVICE_FAILED_OVER:
                self._may_write.discard(host)
            case EventKind.SERVICE_FORCED_DOWN:
                self._may_write.discard(host)
                self._forced_down.add(host)
                self._away_until.pop(host, None)
            case EventKind.SERVICE_CHANGED:
                told = str(event.reason).partition('disabled_reason=')[0]
                if 'forced_down=False' in told:
                    self._forced_down.discard(host)
            case EventKind.SERVICE_DELETED:
                has_none = host not in self._owner.values()
                self._check(event, {'deleted with nodes': has_none})
                self._may_write.discard(host)
                self._forced_down.discard(host)
            case EventKind.NODE_MOVED:
                self._follow_move(event)
            case EventKind.NODE_HANDED_OVER:
                self._follow_removal(event)

    def _follow_move(self, event: model.Event) -> None:
        node, before, after = event.node_uuid, event.from_host, event.to_host
        self._check(
            event,
            {
                'law 1: wrong owner before': self._owner.get(node) == before,
                'law 7: changes nothing': after not in (None, before),
                'law 1: source may write': before not in self._may_write,
                'law 7: instance is left behind': (
                    self._instance.get(node) == event.instance_uuid
                ),
            },
        )
        self._owner[node] = after
        self._moved_by[node] = event.request_id

    def _follow_removal(self, event: model.Event) -> None:
        """Follow a free node that an operator takes from its owner.

        One with an instance only goes back: by the request that moved it.
        """
        node = event.node_uuid
        is_back = event.request_id is not None and (
            self._moved_by.get(node) == event.request_id
        )
        self._check(
            event,
            {
                'law 3: wrong owner before': (
                    self._owner.get(node) == event.from_host
                ),
                'law 3: has an instance': (
                    self._instance.get(node) is None or is_back
                ),
            },
        )
        self._owner[node] = None

    def _follow_reservation(self, event: model.Event) -> None:
        """Follow what a service, or another for it, did to one node."""
        node = event.node_uuid
        owner, instance = self._owner.get(node), self._instance.get(node)
        if event.kind == EventKind.NODE_RELEASED:
            laws = {
                'law 1: wrong owner before': owner == event.from_host,
                'law 2: has another instance': (
                    instance == event.instance_uuid
                ),
            }
            self._owner[node] = self._instance[node] = None
        else:
            laws = {
                'law 1: reserved the node of another service': (
                    owner in (None, event.to_host)
                ),
                'law 1: reserved twice': (
                    instance in (None, event.instance_uuid)
                ),
            }
            self._owner[node] = event.to_host
            self._instance[node] = event.instance_uuid
        self._check(event, laws)

    def _follow_owner(self, event: model.Event) -> None:
        node, before, after = event.node_uuid, event.from_host, event.to_host
        actor = before if after is None else after
        self._check(
            event,
            {
                'law 1: wrong owner before': self._owner.get(node) == before,
                'law 1: changes nothing': before != after,
                'law 1: another service releases or claims': (
                    event.actor == actor
                ),
                'law 2: has an instance': self._instance.get(node) is None,
                'taken from a service that is expected back': (
                    after is None
                    or self._away_until.get(before, event.at) <= event.at
                ),
                'law 5: exclusive owner': (
                    event.kind != EventKind.OWNER_CHANGED
                    or before is None
                    or self._gives(before, after)
                ),
            },
        )
        self._owner[node] = after

    def _follow_instance(self, event: model.Event) -> None:
        node, instance = event.node_uuid, event.instance_uuid
        opened = event.kind == EventKind.INSTANCE_OPENED
        before = None if opened else instance
        changes = event.kind != EventKind.AVAILABILITY_CHANGED
        self._check(
            event,
            {
                'law 1: instance of another service, or its availability': (
                    self._owner.get(node) == event.actor
                ),
                'instance neither new nor the one before': (
                    not changes or self._instance.get(node) == before
                ),
            },
        )
        if changes:
            self._instance[node] = instance if opened else None

    def _gives(self, host: str, to: str | None) -> bool:
        """Tell whether a service gives up nodes, to another one perhaps."""
        if self._shares(host) and (to is None or self._shares(to)):
            return True
        settings = self._settings.get(host, model.MemberSettings())
        reserves = any(p.name == 'reservation' for p in settings.policies)
        return to is None and reserves

    def _shares(self, host: str) -> bool:
        """Tell whether a service shares its nodes with at least one more."""
        if host not in self._settings:
            return True  # deleted since, and its settings with it
        own = self._settings[host]
        peers = [s for s in self._settings.values() if s == own]
        assigns = any(p.name in self._rings for p in own.policies)
        return assigns and len(peers) > 1

    def compare(self, source: SqlRecords) -> None:
        nodes = source.compute_nodes()
        owners = {n.uuid: n.host for n in nodes}
        instances = {n.uuid: n.instance_uuid for n in nodes}
        for uuid in owners.keys() | self._owner.keys():
            for what, replayed, recorded in (
                ('owner', self._owner, owners),
                ('instance', self._instance, instances),
            ):
                # Of a node without a record only an owner would be left.
                if what == 'instance' and uuid not in instances:
                    continue
                if replayed.get(uuid) != recorded.get(uuid):
                    self.found.append(
                        f'node {uuid}: history ends with {what} '
                        f'{replayed.get(uuid)}, its record says '
                        f'{recorded.get(uuid)}'
                    )

    def _check(self, event: model.Event, laws: Mapping[str, bool]) -> None:
        """Note each law that an event does not keep, by its sentence."""
        self.found += [f'{law}: {event}' for law in laws if not laws[law]]
