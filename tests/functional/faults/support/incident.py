"""Real hosts, a failing store or database, and a law check at the end.

Every process writes under a name of its own, and a witness looks on: after
each test the whole history must have kept the laws, with what the witness
saw. See ``laws``, ``observer`` and ``writers``.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import ClassVar

import psutil
import sqlalchemy as sa

from ironic_ownership import wiring
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.events import EventKind
from ironic_ownership.db import schema, tables
from ironic_ownership.db.connection import Database, open_database
from ironic_ownership.db.records import SqlRecords
from lab import faketime
from tests.functional.faults.support import observer, stores, writers
from tests.functional.support import databases, hosts, laws, survived

BOTH = ('host1', 'host2')

TTL = float(str(hosts.FAST['membership']['member_ttl']))
"""Seconds to live by default."""

LONG = 30.0
"""Seconds to live: no member expires in this test."""

STEADY = 12.0
"""Seconds to live: all members expire, and none by being slow afterwards."""

_AT_REST = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def clock() -> faketime.Clock:
    """Return a wall clock that servers of other users can read, too."""
    directory = databases.temporary_directory('clock')
    directory.chmod(0o755)
    return faketime.Clock(directory)


class Deployment(hosts.Deployment):
    """Several hosts, a database for the records and a store for members.

    :param patience: see ``observer.Witness``.
    """

    def __init__(
        self,
        endpoint: str,
        url: str,
        store: stores.Store,
        patience: float = 0.0,
    ) -> None:
        super().__init__(endpoint, url)
        self.store = store
        self._numbers = itertools.count(1)
        self._stack = contextlib.ExitStack()
        schema.upgrade(self.database)
        writers.watch(self.database)
        self.witness = observer.Witness(self, patience)

    def launch(
        self,
        name: str,
        *,
        store_port: int | None = None,
        database_port: int | None = None,
    ) -> hosts.Host:
        """Start one more process, and return at once.

        :param store_port: how it reaches the store, if not directly.
        :param database_port: how it reaches the records, if not directly.
        """
        process = f'{name}_{next(self._numbers)}'
        url = writers.login(self.connection, process, database_port)
        return self.start(
            name,
            database={'connection': url},
            **self.store.sections(store_port or self.store.port),
        )

    def live_for(self, seconds: float) -> None:
        """Set the time to live of the processes that will be started.

        For incidents in which no member may expire, on a machine that has
        little time for those who are to come back.
        """
        self.more = {'membership': {'member_ttl': seconds}}
        self.witness.patience = max(self.witness.patience, seconds)

    def view(self) -> model.View:
        """Return the members, as the product itself reads the store."""
        return self._for_test.view()

    @functools.cached_property
    def _for_test(self) -> backend.MembershipBackend:
        return self._backend('observer')

    @functools.cached_property
    def _for_witness(self) -> backend.MembershipBackend:
        return self._backend('witness')

    def _backend(self, name: str) -> backend.MembershipBackend:
        """Return a backend that never joins."""
        path = self.directory / f'{name}.conf'
        path.write_text(
            hosts.text_of(
                hosts.FAST,
                {'database': {'connection': self.connection}},
                self.store.sections(self.store.port),
                # Patient where the hosts are not.
                {'membership': {'heartbeat_interval': 5, 'member_ttl': 15}},
            )
        )
        wired = wiring.Wiring(new(['--config-file', str(path)], 'test'))
        self._stack.callback(wired.close)
        return wired.backend

    def _is(self, ready: Callable[[], object]) -> bool:
        try:
            return super()._is(ready)
        except exceptions.MembershipError:  # the store is not back yet
            return False

    def seen_by_witness(self) -> Collection[str]:
        return self._for_witness.view().hosts

    def free_nodes(self) -> Mapping[str, str | None]:
        """Return the owner of each free node, if that is able to act."""
        records = SqlRecords(self._read_by_witness)
        able = {
            service.host
            for service in records.services()
            if not (service.fenced or service.forced_down)
        }
        able &= {h.name for h in list(self.hosts) if _works(h.process.pid)}
        return {
            node.uuid: node.host if node.host in able else None
            for node in records.compute_nodes()
            if node.instance_uuid is None
        }

    def ttl(self) -> float:
        own = self.more.get('membership', {})
        return float(str(own.get('member_ttl', TTL)))

    def last_event(self) -> int:
        """Return the id of the newest event; 0 if there is none."""
        newest = sa.select(sa.func.max(tables.events.c.id))
        found = self._read_by_witness.read(
            lambda conn: conn.execute(newest).scalar()
        )
        return int(found or 0)

    @functools.cached_property
    def _read_by_witness(self) -> Database:
        opened = open_database(self.connection)
        self._stack.callback(opened.close)
        return opened

    def close(self) -> None:
        self.witness.stop()
        self._stack.close()
        super().close()

    def evidence(self) -> laws.Evidence:
        return laws.Evidence(self.witness.lapses, writers.read(self.database))


def _works(pid: int) -> bool:
    """Tell whether a process runs, and is not frozen."""
    try:
        return psutil.Process(pid).status() not in _AT_REST
    except psutil.NoSuchProcess:
        return False


class IncidentTestCase(hosts.HostsTestCase):
    """One deployment a test; a class says on which database and store.

    :cvar kind: where the records are.
    :cvar with_records: whether the members are there, too.
    :ivar running: the processes that have to work in the end.
    """

    kind: databases.PostgreSQL | databases.MariaDB | databases.HAProxy = (
        databases.POSTGRESQL
    )
    with_records: ClassVar[bool] = False
    patience = 0.0
    faults_survived = 1
    """Number of faults in one test."""

    deployment: Deployment
    running: list[hosts.Host]

    def open_store(self) -> stores.Store:
        if self.with_records:
            return stores.RecordsStore()
        return stores.DatabaseStore(
            databases.POSTGRESQL
            if self.kind is databases.MARIADB
            else databases.MARIADB
        )

    def fresh_url(self) -> str:
        return self.kind.fresh()

    def deploy(self, connection: str | None = None) -> Deployment:
        """Prepare a deployment whose history is checked at the end."""
        deployment = Deployment(
            self.server.endpoint,
            connection or self.fresh_url(),
            self.open_store(),
            # With the records also a view of the members may be lost.
            max(self.patience, TTL if self.with_records else 0.0),
        )
        self.addCleanup(deployment.close)
        self.addCleanup(self.assert_lawful, deployment)
        self.addCleanup(deployment.stop)
        # Nodes are without a service from then on.
        self.addCleanup(deployment.witness.stop)
        return deployment

    def assert_lawful(self, deployment: hosts.Deployment) -> None:
        """Prove the laws by the history and by what was seen besides."""
        assert isinstance(deployment, Deployment)
        self.assert_no_violation(
            deployment,
            laws.violations(deployment.records, deployment.evidence()),
        )

    def assert_no_violation(
        self, deployment: Deployment, found: Collection[str]
    ) -> None:
        """Note what was survived, and fail if a law was broken."""
        *_, name, test = self.id().split('.')
        survived.note(
            f'{name}: {test.removeprefix("test_").replace("_", " ")}',
            faults=self.faults_survived,
            events=len(deployment.events()),
            violations=len(found),
            unserved=deployment.witness.unserved.longest,
        )
        self.assertEqual([], list(found))

    def launch(self, name: str) -> hosts.Host:
        return self.deployment.launch(name)

    def share(self, *names: str) -> list[str]:
        """Let hosts share nodes, and return those that are free."""
        self.running = [self.launch(name) for name in names]
        self.wait_for_members(*names)
        uuids = self.enrol()
        self.wait_for_ring(uuids, names)
        return uuids[len(uuids) // 4 :]

    def assert_all_is_well(self, *names: str) -> None:
        """See new nodes get their owners, and all processes run."""
        self.wait_for_ring(self.enrol(8), names or BOTH)
        for host in self.running:
            self.assertIsNone(host.process.returncode, host.troubles())

    def wait_for_members(self, *names: str) -> None:
        """Wait until these hosts may write, and each knows all members."""
        self.deployment.wait_until(
            lambda: (
                self.deployment.informed() & self.registered() >= set(names)
            ),
            f'members {names}',
        )

    def registered(self) -> set[str]:
        """Return the hosts that no service has fenced."""
        services = self.deployment.records.services()
        return {service.host for service in services if not service.fenced}

    def enrol(self, count: int = 24) -> list[str]:
        """Add nodes, of which the first quarter is deployed."""
        return self.enrolment.enrol(count, instance_share=0.25)

    def wait_for_ring(
        self, uuids: Collection[str], members: Collection[str]
    ) -> None:
        self.deployment.wait_for_ring(uuids, members)

    def wait_for_owner(self, uuids: Collection[str], host: str) -> None:
        """Wait until a host owns all of these nodes."""
        self.deployment.wait_until(
            lambda: self.deployment.owned_by(host) >= set(uuids),
            f'nodes of {host}',
        )

    def wait_for_fences(self) -> None:
        """Wait until each process has noticed that it has no right."""
        for host in self.running:
            self.deployment.wait_until(
                lambda host=host: (  # type: ignore[misc]
                    host.lines('no valid membership')
                    or host.lines('membership lost')
                ),
                f'fence of {host.name}',
            )

    def wait_for_lapse(self, host: str, after: int) -> None:
        """Wait until the witness saw that a host had no right."""
        self.deployment.wait_until(
            lambda: self.deployment.witness.saw_lapse(host, after),
            f'lapse of {host}',
        )

    @contextlib.contextmanager
    def nothing_moves(self) -> Iterator[None]:
        """See that no node loses its owner meanwhile."""
        before = self.deployment.last_event()
        yield
        self.assertEqual([], self.lost_owners(before))

    def lost_owners(self, after: int = 0) -> list[model.Event]:
        """Return the events by which a node lost its owner."""
        return [
            event
            for event in self.deployment.events()
            if event.kind == EventKind.OWNER_CHANGED
            and event.from_host is not None
            and event.id > after
        ]
