"""The checker: the laws of the design, over records, events and beliefs.

Shares no code with the product, whose decisions it does not know: it reads the
rows with plain SQL after each commit, with the one process that wrote, and
compares them with those before. It knows what is true in Ironic and what
each process believes that it may do.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.simulation.links import EPOCH
from tests.simulation.trials import Trials

if TYPE_CHECKING:
    from tests.simulation.deployment import ServiceProcess, Site
    from tests.simulation.loop import Process

SLACK = 1.002
"""By how much a clock may be slower than another."""


_OUT_OF_ORDER = 200
"""Events before the last one that may still appear, with several writers."""


class Service(NamedTuple):
    """The row of a service."""

    epoch: int
    fenced: int
    forced_down: int
    disabled: int
    incarnation: str | None


class Event(NamedTuple):
    """A row of the history."""

    id: int
    at: float
    actor: str
    kind: str
    node: str | None
    source: str | None
    target: str | None
    instance: str | None
    reason: str | None
    request: str | None = None


@dataclasses.dataclass(frozen=True)
class Rows:
    """The records at one moment.

    :param owners: of the nodes with a record.
    :param instances: open instance and its host, by node.
    :param pauses: shard and end of each, by the database's clock.
    :param holds: request and end of each, by node.
    :param trials: the part in a trial and the state, by request and node.
    """

    services: dict[str, Service]
    owners: dict[str, str | None]
    instances: dict[str, tuple[str, str | None]]
    last_event: int = 0
    pauses: tuple[tuple[str | None, float], ...] = ()
    holds: dict[str, tuple[str, float]] = dataclasses.field(
        default_factory=dict
    )
    trials: dict[str, dict[str, tuple[str | None, str]]] = dataclasses.field(
        default_factory=dict
    )


class ViolationError(AssertionError):
    """A law was broken.

    :ivar story: what led to it, line by line.
    """

    def __init__(self, law: str, text: str, story: list[str]) -> None:
        super().__init__(f'{law}: {text}')
        self.law, self.story = law, story


class Checker:
    """Evaluates the laws while a schedule runs.

    :ivar nodes: the uuids of all nodes that Ironic ever had.
    :ivar broken: the first violation.
    :ivar history: the events, each with its writer: see ``tests/model``.
    :ivar emptied_at: when the store of the members lost some of them.
    :ivar rebalances: whether owners may change without an operator.
    :ivar reserves: whether services own what they reserve.
    :ivar released: the last owner of each node that has none.
    """

    def __init__(self) -> None:
        self.lines: collections.deque[str] = collections.deque(maxlen=4000)
        self.broken: ViolationError | None = None
        self.rows = Rows({}, {}, {})
        self.nodes: set[str] = set()
        self.events = self.acts_seen = 0
        self.changed_at = 0.0
        self._known: set[int] = set()
        self.served: dict[tuple[str, int], str | None] = {}
        self.ended: dict[tuple[str, str], float] = {}
        self.released: dict[str, str] = {}
        self.restored_at = self.emptied_at = float('-inf')
        self._writer = ''
        self._away: dict[str, tuple[int, float]] = {}
        self._looked_at: dict[str, float] = {}
        self.trials = Trials(self)
        self.history: list[dict[str, Any]] = []
        self._site: Site
        self._query: Callable[..., Any]
        self._follow: dict[str, Callable[[Event, Rows, Rows], None]] = {
            'owner_changed': self._owner_changed,
            'node_moved': self._moved,
            'node_reserved': self._reserved,
            'node_handed_over': self._handed_over,
            'node_forgotten': self._forgotten,
            'service_retired': self._retired,
            'service_died': self._died,
            'service_fenced': self._fenced,
            'nodes_taken_over': self._taken_over,
        }

    def watch(self, site: Site) -> None:
        """Evaluate the laws in a deployment."""
        self._site, self._query = site, site.database.query
        site.database.committed = self.committed
        site.bare_metal.on_list = self.listed
        self.nodes |= set(site.bare_metal.nodes)

    def listed(self, method: str, scope: Any) -> None:
        """Law 4: with a shard key, all nodes are never listed."""
        process = self._site.loop.process
        self.trials.listed(getattr(process, 'host', ''))
        # A take-over looks for itself, in a thread of its own.
        if (
            method == 'instances'
            and self._site.bare_metal.sees == 1
            and self._site.loop.current.name != 'take-over'
        ):
            self._looked_at[process.name] = self._site.loop.now
        if (
            self._runs('shard_key')
            and hasattr(process, 'host')
            and not (scope.shard or scope.nothing)
        ):
            self.violate('law 4', f'{process.name}: {method} of all nodes')

    @property
    def rebalances(self) -> bool:
        return self._runs('peer_list')

    @property
    def reserves(self) -> bool:
        return self._runs('reservation')

    def _runs(self, name: str) -> bool:
        settings = self._site.policies.values()
        return any(p.name == name for one in settings for p in one.policies)

    def tell(self, text: str) -> None:
        """Add a line to the story."""
        self.lines.append(f'{self._site.loop.now:9.2f} {text}')

    def violate(self, law: str, text: str) -> None:
        """Note that a law is broken."""
        if self.broken is None:
            self.tell(f'VIOLATION of {law}: {text}')
            self.broken = ViolationError(law, text, list(self.lines)[-40:])

    def restored(self) -> None:
        """Take the records as they are: an older copy."""
        self.restored_at = self.emptied_at = self._site.loop.now
        self._away.clear()
        self.trials.restored()
        (last,) = self._query('SELECT MAX(id) FROM events').fetchone()
        self.rows = dataclasses.replace(self._read(), last_event=last or 0)
        self._known = {row[0] for row in self._query('SELECT id FROM events')}
        self.released = dict(
            self._query(
                'SELECT uuid, released_by FROM compute_nodes '
                'WHERE released_by IS NOT NULL AND deleted_at IS NULL'
            )
        )

    # Commits.

    def committed(self, process: Process, written: set[str]) -> None:
        """Evaluate what a transaction has changed."""
        before, now = self.rows, self._read()
        events = [
            Event(*row)
            for row in self._query(
                'SELECT id, at, actor, kind, node_uuid, from_host, to_host, '
                'instance_uuid, reason, request_id FROM events '
                f'WHERE id > {before.last_event - _OUT_OF_ORDER} ORDER BY id'
            )
            if row[0] not in self._known
        ]
        if events:
            self._known.update(event.id for event in events)
            last = max(before.last_event, events[-1].id)
            now = dataclasses.replace(now, last_event=last)
        self.rows = now
        self.events += len(events)
        writer = getattr(process, 'writer', process.name)
        for event in events:
            self.history.append({**event._asdict(), 'writer': writer})
            self.tell(_shown(event, writer))
        if before == now:
            # Revisions, reports: they change no right.
            return
        self.changed_at = self._site.loop.now
        self._check_writer(process, before, now, events)
        self._check_epochs(before, now)
        self._check_owners(process, before, now, events)
        self._check_holds(before, now, events)
        self._writer = process.name
        for event in events:
            if (check := self._follow.get(event.kind)) is not None:
                check(event, before, now)
        self.trials.written(before, now)
        self._note_ends(before, now)

    def _read(self) -> Rows:
        query = self._query
        services = {
            host: Service(*rest)
            for host, *rest in query(
                'SELECT host, epoch, fenced, forced_down, disabled, '
                'incarnation FROM services'
            )
        }
        nodes = query(
            'SELECT uuid, host, held_by, held_until FROM compute_nodes '
            'WHERE deleted_at IS NULL'
        ).fetchall()
        instances = {
            node: (uuid, host)
            for node, uuid, host in query(
                'SELECT open_node_uuid, uuid, host FROM instances '
                'WHERE open_node_uuid IS NOT NULL'
            )
        }
        pauses = query('SELECT shard, ends_at FROM pauses').fetchall()
        last = self.rows.last_event
        return Rows(
            services,
            {uuid: host for uuid, host, *_ in nodes},
            instances,
            last,
            tuple(pauses),
            {
                uuid: (request, until)
                for uuid, host, request, until in nodes
                if host is None and request is not None
            },
            self.trials.read(query),
        )

    def _check_writer(
        self, process: Process, before: Rows, now: Rows, events: list[Event]
    ) -> None:
        """Law 1: no service writes after its fence."""
        host = getattr(process, 'host', None)
        if host is None or before.services == {}:
            return None
        kinds = {event.kind for event in events}
        if 'service_registered' in kinds or 'service_retired' in kinds:
            self._check_role(process, host, before, kinds)
            return
        if 'node_moved' in kinds:
            return  # for an operator: see _check_order
        row = before.services.get(host)
        if row is None or row.fenced or row.forced_down:
            self.violate('law 1', f'{process.name} writes without a right')
        elif EPOCH.get() not in (None, row.epoch):
            self.violate(
                'law 1',
                f'{process.name} writes under the epoch {EPOCH.get()}, and '
                f'{row.epoch} is the current one',
            )
        elif row.incarnation != process.incarnation:
            self.violate(
                'law 1', f'{process.name} writes, and is not active: {row}'
            )

    def _check_role(
        self, process: Any, host: str, before: Rows, kinds: set[str]
    ) -> None:
        row = before.services.get(host)
        if row is None:
            return
        if 'service_registered' in kinds and row.forced_down:
            self.violate('law 1', f'{process.name} registers, forced down')
        active = next(
            (
                p
                for p in self._processes(host)
                if p.incarnation == row.incarnation
            ),
            None,
        )
        if active in (None, process) or row.fenced:
            return
        if active.may_act:
            self.violate(
                'law 1',
                f'{process.name} takes the place of {active.name}, which '
                'may act',
            )

    def _check_epochs(self, before: Rows, now: Rows) -> None:
        for host, row in now.services.items():
            old = before.services.get(host)
            if old is not None and row.epoch < old.epoch:
                self.violate(
                    'epochs', f'{host}: {old.epoch}, then {row.epoch}'
                )
            if row.fenced or row.incarnation is None:
                continue
            first = self.served.setdefault((host, row.epoch), row.incarnation)
            if first != row.incarnation:
                self.violate(
                    'epochs', f'{host}: epoch {row.epoch} was given twice'
                )

    def _check_owners(
        self, process: Process, before: Rows, now: Rows, events: list[Event]
    ) -> None:
        named = {event.node for event in events}
        moved = {e.node for e in events if e.kind == 'node_moved'}
        is_service = hasattr(process, 'host')
        for uuid in before.owners.keys() | now.owners.keys():
            old, new = before.owners.get(uuid), now.owners.get(uuid)
            if old == new:
                continue
            if uuid not in named:
                self.violate('law 6', f'{uuid}: {old} to {new}, no event')
            if not (old and is_service):
                continue
            self._check_paused(uuid, old, now)
            self._check_grace(uuid, old, now)
            if uuid in moved:
                self._check_order(uuid, old, now)
                continue
            # The end of a reservation ends its instance.
            instances = now if self.reserves else before
            if uuid in instances.instances:
                self.violate('law 2', f'{uuid}: {old} to {new}, deployed')
            self._check_deployed(process, uuid, old, new)
            if new and not self.rebalances:
                self.violate('law 5', f'{uuid}: {old} to {new}')
        for uuid, (instance, host) in now.instances.items():
            if now.owners.get(uuid) != host and not self.trials.releases(
                now, uuid
            ):
                self.violate(
                    'law 7',
                    f'instance {instance} belongs to {host}, its node to '
                    f'{now.owners.get(uuid)}',
                )

    def _check_deployed(
        self, process: Process, uuid: str, old: str, new: str | None
    ) -> None:
        """Law 2, as Ironic knows it.

        Under a ring, a list of the instances has all nodes.
        """
        bare_metal = self._site.bare_metal
        found = bare_metal.nodes.get(uuid)
        if self._is_seen_deployed(uuid):
            self.violate('law 2', f'{uuid}: {old} to {new}, seen deployed')
        looked_at = self._looked_at.get(process.name, 0.0)
        if (
            found
            and found.instance_uuid
            and new is None
            and self.rebalances
            and looked_at > bare_metal.deployed_at.get(uuid, looked_at)
        ):
            self.violate('law 2', f'{old} releases {uuid}, seen deployed')

    def _is_seen_deployed(self, uuid: str) -> bool:
        """Tell whether every service has read that a node has an instance.

        What it has read is at most a refresh old, or as old as a process may
        stand still before it loses its right.
        """
        bare_metal, times = self._site.bare_metal, self._site.times
        found = bare_metal.nodes.get(uuid)
        since = self._site.loop.now - bare_metal.deployed_at.get(uuid, 0.0)
        return (
            found is not None
            and found.instance_uuid is not None
            and since > max(times.refresh, times.ttl)
        )

    def _check_order(self, uuid: str, old: str, now: Rows) -> None:
        """Law 2: a service moves a node only by an order that is due."""
        database = self._site.database
        order, epoch, since = self._query(
            'SELECT standing_order, fence_epoch, fence_seen_at '
            'FROM services WHERE host = ?',
            (old,),
        ).fetchone()
        row = now.services[old]
        if not (order and row.fenced and row.epoch == epoch):
            self.violate('law 2', f'{uuid} of {old} is moved without an order')
        elif not self._has_jumped:
            left = since + json.loads(order)['after'] - database.clock()
            if left > 0:
                self.violate('law 2', f'{uuid} is moved {left:.1f} s early')

    def _check_paused(self, uuid: str, old: str, now: Rows) -> None:
        """Law 13: no owner changes automatically under a pause."""
        database = self._site.database
        if uuid not in now.owners or self._has_jumped:
            return
        (shard,) = self._query(
            'SELECT shard FROM compute_nodes WHERE uuid = ?', (uuid,)
        ).fetchone()
        for paused, ends_at in now.pauses:
            if paused in (None, shard) and ends_at > database.clock():
                new = now.owners[uuid]
                self.violate('law 13', f'{uuid}: {old} to {new}, paused')

    @property
    def _has_jumped(self) -> bool:
        """True if a transaction may have read the clock before its jump."""
        database = self._site.database
        return self._site.loop.now - database.jumped_at <= database.idle

    def _check_holds(
        self, before: Rows, now: Rows, events: list[Event]
    ) -> None:
        """Law 1: only its request gives a released node to a service."""
        moved = {(e.node, e.request) for e in events if e.kind == 'node_moved'}
        for uuid, (request, until) in before.holds.items():
            if (
                now.owners.get(uuid)
                and (uuid, request) not in moved
                and until > self._site.database.clock()
                and not self._has_jumped
            ):
                self.violate(
                    'law 1', f'{uuid} is held by {request}, and claimed'
                )

    def _retired(self, event: Event, before: Rows, now: Rows) -> None:
        host = str(event.source)
        until = self._site.database.clock() + self._site.times.grace
        self._away[host] = now.services[host].epoch, until

    def _check_grace(self, uuid: str, old: str, now: Rows) -> None:
        """No node leaves a service while it is expected back."""
        epoch, until = self._away.get(old, (0, 0.0))
        row = now.services.get(old)
        if (
            row is not None
            and row.epoch == epoch
            and not row.forced_down
            and not self._has_jumped
            and (left := until - self._site.database.clock()) > 0
        ):
            self.violate(
                'grace',
                f'{uuid}: {old} to {now.owners.get(uuid)}, {left:.1f} s early',
            )

    def _owner_changed(self, event: Event, before: Rows, now: Rows) -> None:
        source, target = event.source, event.target
        gains = source if target is None else target
        if event.actor != gains and event.actor != 'operator':
            self.violate('law 1', f'{event.actor} gives {event.node} away')
        instance, host = before.instances.get(str(event.node), ('', gains))
        if source is None and event.actor != 'operator' and host != gains:
            self.violate(
                'law 2', f'{gains} claims {event.node}, {instance} of {host}'
            )
        if before.owners.get(str(event.node)) != source:
            self.violate('law 1', f'{event.node} was not of {source}')
        if source and target:
            self._ended(event, source, now)
        if source is None and event.actor != 'operator':
            self._check_returned(str(event.node), str(gains), now)

    def _check_returned(self, uuid: str, gains: str, now: Rows) -> None:
        """Law 2: who released a node gets it back, if it was deployed then."""
        former = self.released.get(uuid, gains)
        if (
            self.rebalances
            and former != gains
            and former in now.services
            and (uuid in now.instances or self._is_seen_deployed(uuid))
        ):
            self.violate('law 2', f'{gains} adopts {uuid} of {former}')

    def _ended(self, event: Event, source: str, now: Rows) -> None:
        row = now.services.get(source)
        if row is not None and not row.fenced and not row.forced_down:
            self.violate(
                'law 1', f'{event.node} is taken from {source}, not fenced'
            )

    def _moved(self, event: Event, before: Rows, now: Rows) -> None:
        node = str(event.node)
        if before.owners.get(node) != event.source:
            self.violate('law 7', f'{node} was not of {event.source}')
        if event.source:
            self._ended(event, event.source, now)
        self.trials.moved(event, before)

    def _reserved(self, event: Event, before: Rows, now: Rows) -> None:
        node, owner = str(event.node), str(event.target)
        if before.owners.get(node) not in (None, owner):
            self.violate('law 1', f'{owner} reserves {node} of another')
        row = now.services.get(owner)
        if row is None or row.fenced or row.forced_down:
            self.violate('law 1', f'{owner} reserves {node}, not serving')

    def _handed_over(self, event: Event, before: Rows, now: Rows) -> None:
        if str(event.node) in before.instances and not self.trials.releases(
            now, str(event.node)
        ):
            self.violate('law 2', f'{event.node} is released, deployed')

    def _forgotten(self, event: Event, before: Rows, now: Rows) -> None:
        node, bare_metal = str(event.node), self._site.bare_metal
        if node in bare_metal.nodes:
            self.violate('law 3', f'{node} is deleted, and Ironic has it')
        if before.owners.get(node) != event.source:
            self.violate('law 3', f'{node} was not of {event.source}')

    def _died(self, event: Event, before: Rows, now: Rows) -> None:
        """Let no store that takes no heartbeats make a service dead.

        Who declares a death has itself been heard since the other expired.
        """
        ttl, site = self._site.times.ttl, self._site
        beats = {**site.database.beats, **site.members.beats}
        heard = [ended for _, ended in beats.get(self._writer, ())]
        of_host = sorted(
            began
            for machine, found in beats.items()
            if site.hosts.get(machine) == event.source
            # One that leaves in order is gone, and not silent.
            and not getattr(site.machines.get(machine), 'is_stopping', False)
            for began, _ in found
        )
        silent_since = [
            began
            for began, following in itertools.pairwise(
                [*of_host, float('inf')]
            )
            if following - began >= ttl
        ]
        if (
            of_host
            and self.emptied_at < of_host[0]
            and (not heard or min(silent_since) + ttl > max(heard))
        ):
            self.violate(
                'outage',
                f'{event.actor} declares {event.source} dead, silent since '
                f'{silent_since}, and was itself heard at {heard[-1:]}',
            )

    def _fenced(self, event: Event, before: Rows, now: Rows) -> None:
        """Law 1: who is declared dead does not act.

        A command knows the members of one moment only.
        """
        site = self._site
        misled = max(self.emptied_at, site.database.jumped_at)
        if event.actor == 'operator' and site.loop.now - misled < (
            2 * site.times.ttl
        ):
            return
        self._must_be_idle(str(event.source), before, event.actor)

    def _taken_over(self, event: Event, before: Rows, now: Rows) -> None:
        self._must_be_idle(str(event.source), before, event.actor)

    def _must_be_idle(self, host: str, before: Rows, actor: str) -> None:
        row = before.services.get(host)
        for process in self._processes(host):
            if (
                row is not None
                and not row.fenced
                and not row.forced_down
                and process.incarnation == row.incarnation
                and process.may_act
            ):
                self.violate(
                    'law 1', f'{actor} fences {host}, and {process.name} acts'
                )

    # Beliefs.

    def _note_ends(self, before: Rows, now: Rows) -> None:
        """Note since when each right is over."""
        at = self._site.loop.now
        for host, old in before.services.items():
            row = now.services.get(host)
            if (
                row is None
                or row.epoch != old.epoch
                or row.fenced
                or (row.forced_down)
            ):
                self.ended.setdefault((host, str(old.epoch)), at)
        for uuid, owner in before.owners.items():
            if owner and now.owners.get(uuid) != owner:
                self.ended[(owner, uuid)] = at
                self.released[uuid] = owner
            if uuid not in now.owners or now.owners[uuid]:
                self.released.pop(uuid, None)

    def believes(self, process: ServiceProcess) -> None:
        """Law 1: no process acts under an epoch that it was not given."""
        epoch = process.epoch
        if epoch is not None and process.incarnation != self.served.get(
            (process.host, epoch)
        ):
            self.violate(
                'law 1',
                f'{process.name} may act under the epoch {epoch}, which it '
                'was not given',
            )

    def acts(self, process: ServiceProcess, permission: Any) -> None:
        """Evaluate an act under a permission that seems valid."""
        self.acts_seen += 1
        limit = self._site.times.heartbeat * SLACK
        right = process.host, permission._uuid, permission.epoch
        for what in self._over(*right, self._site.loop.now - limit):
            self.violate('law 1 (guard)', f'{process.name} acts on {what}')

    def admitted(
        self, host: str, uuid: str, epoch: int, arrived: float
    ) -> None:
        """Law 12: Ironic admits no request under an ended epoch.

        :param arrived: when the request did, at Ironic.
        """
        for what in self._over(host, uuid, epoch, arrived):
            self.violate('law 12', f'a request is admitted: {what}')

    def _over(
        self, host: str, uuid: str, epoch: int, since: float
    ) -> Iterator[str]:
        """Return each right to a node that was over before some time."""
        if since <= self.restored_at:
            return
        row = self.rows.services.get(host)
        ends = []
        if self.rows.owners.get(uuid) != host:
            ends.append(('does not own', self.ended.get((host, uuid), 0.0)))
        if row is None or row.fenced or row.forced_down or row.epoch != epoch:
            ended = self.ended.get((host, str(epoch)), self.restored_at)
            ends.append(('has no right to', ended))
        for what, ended in ends:
            if max(ended, self.restored_at) < since:
                seconds = self._site.loop.now - ended
                yield f'{uuid}, which {host} {what} for {seconds:.2f} s'

    def _processes(self, host: str) -> Iterator[ServiceProcess]:
        for process in self._site.machines.values():
            if process.host == host and not process.is_dead:
                yield process


def _shown(event: Event, writer: str) -> str:
    words = [
        f'{event.kind} by {event.actor} ({writer}):',
        f'node {event.node[-4:]}' if event.node else '',
        f'{event.source} -> {event.target}',
        f'instance {event.instance[-4:]}' if event.instance else '',
        event.reason or '',
    ]
    return ' '.join(word for word in words if word)
