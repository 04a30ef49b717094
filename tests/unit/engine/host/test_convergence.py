"""Convergence of several services, and the laws, under random events.

hypothesis draws the events: beats, refreshes, crashes, starts, time that
passes, instances that come and go, an outage of the membership - and, in
the middle of a refresh (after its snapshot was begun, before each
transaction), more of the same. After each step the laws are checked; when
the dust has settled, everything has its first owner. The simulation does so
for rings and shards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.records import Claim, Update
from ironic_ownership.db.records import SqlRecords
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.contract.suites import fake_bare_metal
from tests.unit.db import sqlite
from tests.unit.engine import world
from tests.unit.engine.service import TTL, Service, Shared

HOSTS = ('host1', 'host2', 'host3')
NODES = range(1, 8)

_HOST = st.sampled_from(HOSTS)
_TURN = st.tuples(st.just('turn'), _HOST)
_BRIEF = st.one_of(
    _TURN,
    _TURN,
    _TURN,
    st.tuples(st.just('beat'), _HOST),
    st.tuples(st.just('crash'), _HOST),
    st.tuples(st.just('elapse'), st.sampled_from((1.0, 5.0, 19.5, 21.0))),
    st.tuples(st.just('deploy'), st.sampled_from(NODES)),
    st.tuples(st.just('undeploy'), st.sampled_from(NODES)),
    st.tuples(st.just('outage'), st.booleans()),
)
_INTERRUPTED = st.tuples(
    st.just('turn'),
    _HOST,
    st.lists(_BRIEF, max_size=4),
    st.lists(_BRIEF, max_size=4),
)
_STEP = st.one_of(_BRIEF, _INTERRUPTED, _INTERRUPTED)
_STORY = st.lists(_STEP, min_size=5, max_size=40)

_FEW = settings(max_examples=settings().max_examples // 6)
"""The simulation runs many more, with threads and faults of all kinds."""

_AT_WORK = [('deploy', 1), *(('turn', host) for host in HOSTS[:2] * 2)]
"""A deployment that runs already."""


class Interrupted(SqlRecords):
    """The records of one process, where something happens before a write.

    It also knows what its process believes to own.
    """

    def __init__(self, database) -> None:
        super().__init__(database)
        self.before_apply: Callable[[], None] = lambda: None
        self.believed: set[str] = set()

    def in_reach(self, host, scope):
        found = [*super().in_reach(host, scope)]
        self.believed = {one.uuid for one in found if one.host == host}
        return found

    def apply(self, host, epoch, changes, **options):
        self.before_apply()
        try:
            outcome = super().apply(host, epoch, changes, **options)
        except exceptions.FencedError:
            self.believed.clear()
            raise
        for change in outcome.applied:
            if isinstance(change, Claim):
                self.believed.add(change.uuid)
            elif not isinstance(change, Update):
                self.believed.discard(change.uuid)
        return outcome


class InterruptedIronic(fake_bare_metal.FakeBareMetal):
    """One process's Ironic, where something happens before a list comes."""

    def __init__(self, nodes: dict[str, model.Node]) -> None:
        super().__init__()
        self.nodes = nodes
        self.before_scan: Callable[[], None] = lambda: None

    def scan(self, scope):
        self.before_scan()
        return super().scan(scope)


@dataclasses.dataclass
class Process:
    """A service that runs, or ran until it crashed."""

    service: Service
    records: Interrupted
    ironic: InterruptedIronic
    busy: bool = False


class Story:
    """One deployment, and what happens in it."""

    def __init__(self, test, database, runs: model.MemberSettings) -> None:
        now = FakeClock()
        self.test, self.database, self.runs = test, database, runs
        self.shared = Shared(
            now,
            memory.MemoryStore(now),
            SqlRecords(database),
            fake_bare_metal.FakeBareMetal(map(world.node, NODES)),
        )
        self.processes: dict[str, Process] = {}
        self.crashed: list[Process] = []
        self.deployed: dict[str, str] = {}

    def step(self, kind: str, *args) -> None:
        getattr(self, kind)(*args)
        self.check()

    def beat(self, host: str) -> None:
        process = self.processes.get(host)
        if process is None:
            process = self.processes[host] = self.start(host)
        process.service.beat()
        died = process.service.take_died()
        if died:
            self.take_over(process, died)

    def turn(self, host, before_scan=(), before_apply=()) -> None:
        """Beat and refresh, with what happens meanwhile."""
        self.beat(host)
        self.refresh(host, before_scan, before_apply)

    def start(self, host: str) -> Process:
        records = Interrupted(self.database)
        ironic = InterruptedIronic(self.shared.ironic.nodes)
        started = Service(host, self.runs, self.shared, records, ironic)
        return Process(started, records, ironic)

    def refresh(self, host, before_scan=(), before_apply=()) -> int:
        process = self.processes.get(host)
        if process is None or process.busy:
            return 0
        process.busy = True
        process.ironic.before_scan = self.once(process, before_scan)
        process.records.before_apply = self.once(process, before_apply)
        try:
            report = process.service.refresh()
        except exceptions.FencedError:
            process.service.member.check_epoch()
            return 1
        except exceptions.BackendUnavailableError:
            return 1
        finally:
            process.busy = False
        return (
            report.applied + report.refused + report.waiting + report.deferred
        )

    def take_over(self, process: Process, died: set[str]) -> None:
        """Do what the thread of the take-overs does meanwhile."""
        try:
            process.service.takeover.take_over(died)
        except (exceptions.FencedError, exceptions.BackendUnavailableError):
            return

    def once(self, process: Process, steps) -> Callable[[], None]:
        """Return what happens at the first call, as other threads would.

        A crash of the very process ends it later: here its thread goes on,
        as a process does that was only stopped for a while.
        """
        pending = list(steps)

        def happen() -> None:
            while pending:
                self.step(*pending.pop(0))

        return happen

    def crash(self, host: str) -> None:
        process = self.processes.pop(host, None)
        if process is not None:
            self.crashed.append(process)

    def elapse(self, seconds: float) -> None:
        self.shared.clock.elapse(seconds)

    def outage(self, begins: bool) -> None:
        self.shared.store.available = not begins

    def deploy(self, number: int) -> None:
        self.put(number, f'instance of {number}')

    def undeploy(self, number: int) -> None:
        self.put(number, None)

    def put(self, number: int, instance: str | None) -> None:
        self.shared.ironic.put(world.node(number, instance_uuid=instance))

    def on_record(self) -> dict[str, model.ComputeNode]:
        return {r.uuid: r for r in self.shared.records.compute_nodes()}

    def check(self) -> None:
        """Check laws 1 and 2 at this very moment."""
        holders: dict[str, str] = {}
        for process in [*self.processes.values(), *self.crashed]:
            if not process.service.fence.may_act:
                continue
            for uuid in process.records.believed:
                self.test.assertNotIn(uuid, holders)
                holders[uuid] = process.service.host
        deployed = {}
        for uuid, record in self.on_record().items():
            if record.instance_uuid is not None:
                self.test.assertIsNotNone(record.host)
                before = self.deployed.get(uuid, record.host)
                self.test.assertEqual(before, record.host)
                deployed[uuid] = record.host
        self.deployed = deployed

    def settle(self) -> None:
        """Let all live services work until nothing changes any more."""
        self.outage(False)
        self.beat('host1')
        self.elapse(TTL + 1)
        for _ in range(12):  # until all of them are settled
            for host in list(self.processes):
                self.beat(host)
            self.elapse(TTL / 6)
        for _ in range(12):
            for host in list(self.processes):
                self.beat(host)
            work = sum(self.refresh(host) for host in list(self.processes))
            self.check()
            self.elapse(1)
            if not work:
                return
        self.test.fail('services never come to rest')


class TestExclusive(sqlite.SqliteCase):
    def setUp(self) -> None:
        super().setUp()
        self.database = self.open_with_schema()

    @_FEW
    @given(_STORY)
    def test_one_filter_twice_never_gives_a_node_to_two(self, steps) -> None:
        self.converge(steps)

    @_FEW
    @given(_STORY)
    def test_services_at_work_never_share_a_node_either(self, steps) -> None:
        self.converge([*_AT_WORK, *steps])

    def converge(self, steps) -> None:
        for table in ('instances', 'compute_nodes', 'services', 'events'):
            sqlite.run_sql(self.database, f'DELETE FROM {table}')
        story = Story(self, self.database, world.ALL)
        for step in steps:
            story.step(*step)
        story.settle()
        owners: dict[str, str] = {}
        for event in reversed(story.shared.records.events(limit=10_000)):
            if event.kind == 'owner_changed':
                self.assertIsNone(event.from_host)
                self.assertNotIn(event.node_uuid, owners)
                owners[event.node_uuid] = event.to_host
        self.assertEqual(set(story.shared.ironic.nodes), set(owners))
