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
        """Take one event into account."""
        while self._lapses and self._lapses[-1].event_id < event.id:
            self._lapsed.add(self._lapses.pop().host)
        if event.kind == EventKind.SERVICE_REGISTERED:
            self._follow_registration(event)
            return
        if event.kind in _BY_OPERATORS or (
            event.kind == EventKind.SERVICE_FENCED and event.request_id
        ):
            self._follow_operator(event)
            return
        if (
            event.kind == EventKind.NODE_FORGOTTEN
            and event.actor not in self._settings
        ):
            self._follow_removal(event)
            return
        if event.kind in _RESERVATIONS:
            self._follow_reservation(event)
            return
        self._check_writer(event)
        self._follow_service(event)

    def _follow_service(self, event: model.Event) -> None:
        """Take an event into account that a service wrote."""
        match event.kind:
            case EventKind.SERVICE_RETIRED:
                self._follow_retirement(event)
            case EventKind.SERVICE_FENCED:
                self._may_write.discard(str(event.from_host))
            case EventKind.OWNER_CHANGED | EventKind.NODE_FORGOTTEN:
                self._follow_owner(event)
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
                    event.from_host not in self._may_write,
                    event,
                    'law 1: nodes were taken from a service that may write',
                )
            case _:
                self._check(False, event, 'unknown kind')

    def _check_writer(self, event: model.Event) -> None:
        """See that a service writes only with a right that it has now."""
        retires_down = (
            event.kind == EventKind.SERVICE_RETIRED
            and event.actor in self._forced_down
        )
        self._check(
            event.actor in self._may_write or retires_down,
            event,
            'law 1: actor is fenced',
        )
        self._check(
            event.actor not in self._lapsed,
            event,
            'law 1: the right of the actor had lapsed',
        )
        writer = self._writers.get(event.id)
        active = self._active.get(event.actor)
        self._check(
            writer == active,
            event,
            f'law 1: written by {writer}, while {active} is active',
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
                self._check(
                    host not in self._owner.values(),
                    event,
                    'deleted with nodes',
                )
                self._may_write.discard(host)
                self._forced_down.discard(host)
            case EventKind.NODE_MOVED:
                self._follow_move(event)
            case EventKind.NODE_HANDED_OVER:
                self._follow_removal(event)

    def _follow_move(self, event: model.Event) -> None:
        node, before, after = event.node_uuid, event.from_host, event.to_host
        self._check(
            self._owner.get(node) == before, event, 'law 1: wrong owner before'
        )
        self._check(
            after not in (None, before), event, 'law 7: changes nothing'
        )
        self._check(
            before not in self._may_write, event, 'law 1: source may write'
        )
        self._check(
            self._instance.get(node) == event.instance_uuid,
            event,
            'law 7: instance is left behind',
        )
        self._owner[node] = after
        self._moved_by[node] = event.request_id

    def _follow_removal(self, event: model.Event) -> None:
        """Follow a free node that an operator takes from its owner.

        One with an instance only goes back: by the request that moved it.
        """
        node = event.node_uuid
        self._check(
            self._owner.get(node) == event.from_host,
            event,
            'law 3: wrong owner before',
        )
        is_back = event.request_id is not None and (
            self._moved_by.get(node) == event.request_id
        )
        self._check(
            self._instance.get(node) is None or is_back,
            event,
            'law 3: has an instance',
        )
        self._owner[node] = None

    def _follow_reservation(self, event: model.Event) -> None:
        """Follow what a service, or another for it, did to one node."""
        if event.actor in self._settings:
            self._check_writer(event)
        if event.kind == EventKind.NODE_RELEASED:
            self._follow_end_of_reservation(event)
            return
        node, host = event.node_uuid, event.to_host
        self._check(
            self._owner.get(node) in (None, host),
            event,
            'law 1: reserved the node of another service',
        )
        self._check(
            self._instance.get(node) in (None, event.instance_uuid),
            event,
            'law 1: reserved twice',
        )
        self._owner[node] = host
        self._instance[node] = event.instance_uuid

    def _follow_end_of_reservation(self, event: model.Event) -> None:
        node = event.node_uuid
        self._check(
            self._owner.get(node) == event.from_host,
            event,
            'law 1: wrong owner before',
        )
        self._check(
            self._instance.get(node) == event.instance_uuid,
            event,
            'law 2: has another instance',
        )
        self._owner[node] = self._instance[node] = None

    def _follow_owner(self, event: model.Event) -> None:
        node, before, after = event.node_uuid, event.from_host, event.to_host
        self._check(
            self._owner.get(node) == before, event, 'law 1: wrong owner before'
        )
        self._check(before != after, event, 'law 1: changes nothing')
        self._check(
            event.actor == (before if after is None else after),
            event,
            'law 1: another service releases or claims',
        )
        self._check(
            self._instance.get(node) is None, event, 'law 2: has an instance'
        )
        if after is not None:
            self._check(
                self._away_until.get(before, event.at) <= event.at,
                event,
                'taken from a service that is expected back',
            )
        if event.kind == EventKind.OWNER_CHANGED and before is not None:
            sharing = self._shares(before) and (
                after is None or self._shares(after)
            )
            reserves = after is None and self._reserves(before)
            self._check(sharing or reserves, event, 'law 5: exclusive owner')
        self._owner[node] = after

    def _follow_instance(self, event: model.Event) -> None:
        node, instance = event.node_uuid, event.instance_uuid
        opened = event.kind == EventKind.INSTANCE_OPENED
        self._check(
            self._owner.get(node) == event.actor,
            event,
            'law 1: instance of another service, or its availability',
        )
        if event.kind == EventKind.AVAILABILITY_CHANGED:
            return
        self._check(
            self._instance.get(node) == (None if opened else instance),
            event,
            'instance neither new nor the one before',
        )
        self._instance[node] = instance if opened else None

    def _shares(self, host: str) -> bool:
        """Tell whether a service shares its nodes with at least one more."""
        if host not in self._settings:
            return True  # deleted since, and its settings with it
        own = self._settings[host]
        peers = [
            h for h, settings in self._settings.items() if settings == own
        ]
        assigns = any(p.name in self._rings for p in own.policies)
        return assigns and len(peers) > 1

    def _reserves(self, host: str) -> bool:
        settings = self._settings.get(host, model.MemberSettings())
        return any(p.name == 'reservation' for p in settings.policies)

    def compare(self, source: SqlRecords) -> None:
        """Compare the end of the history with the records."""
        nodes = source.compute_nodes()
        kept = {n.uuid: n.host for n in nodes if n.host is not None}
        replayed = {u: h for u, h in self._owner.items() if h is not None}
        for uuid in kept.keys() | replayed.keys():
            if kept.get(uuid) != replayed.get(uuid):
                self.found.append(
                    f'node {uuid}: history ends with owner '
                    f'{replayed.get(uuid)}, its record says {kept.get(uuid)}'
                )
        for node in nodes:
            if node.instance_uuid != self._instance.get(node.uuid):
                self.found.append(
                    f'node {node.uuid}: history ends with instance '
                    f'{self._instance.get(node.uuid)}, its record says '
                    f'{node.instance_uuid}'
                )

    def _check(self, kept: bool, event: model.Event, broken: str) -> None:
        if not kept:
            self.found.append(f'{broken}: {event}')
