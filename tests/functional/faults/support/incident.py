"""Real hosts, a failing store or database, and a law check at the end.

Every process writes under a name of its own, and a witness looks on: after
each test the whole history must have kept the laws, with what the witness
saw. See ``laws``, ``witness`` and ``writers``.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping

import psutil
import sqlalchemy as sa

from ironic_ownership import wiring
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.events import EventKind
from ironic_ownership.db import schema, tables
from ironic_ownership.db.connection import Database, open_database
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.policies import peer_list
from lab import proxy
from tests.functional.faults.support import stores, writers
from tests.functional.faults.support.observer import Witness
from tests.functional.support import databases, hosts, laws, survived

LONG = 30.0
"""Seconds to live: no member expires in this test."""

STEADY = 12.0
"""Seconds to live: all members expire, and none by being slow afterwards."""

_AT_REST = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


class Deployment(hosts.Deployment):
    """Several hosts, a database for the records and a store for members.

    :param patience: see ``witness.Witness``.
    :ivar watched: hosts to look out for, besides those with a process.
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
        self.watched: set[str] = set()
        self._numbers = itertools.count(1)
        self._stack = contextlib.ExitStack()
        schema.upgrade(self.database)
        writers.watch(self.database)
        self.witness = Witness(
            self._seen_by_witness,
            self.last_event,
            self._names,
            self._free_nodes,
            self._ttl,
            patience,
        )
        self.witness.start()

    def launch(
        self,
        name: str,
        policies: str = 'peer_list',
        *,
        store_port: int | None = None,
        database_port: int | None = None,
        **sections: object,
    ) -> hosts.Host:
        """Start one more process, and return at once.

        :param store_port: how it reaches the store, if not directly.
        :param database_port: how it reaches the records, if not directly.
        """
        process = f'{name}_{next(self._numbers)}'
        url = writers.login(self.connection, process, database_port)
        options: dict[str, dict[str, object]] = {
            'database': {'connection': url}
        }
        for part in (
            self.store.sections(store_port or self.store.port),
            sections,
        ):
            for group, values in part.items():
                options.setdefault(group, {}).update(values)  # type: ignore[call-overload]
        return self.start(name, policies, **options)

    def live_for(self, seconds: float) -> None:
        """Set the time to live of the processes that will be started.

        For incidents in which no member may expire, on a machine that has
        little time for those who are to come back.
        """
        self.more = {'membership': {'member_ttl': seconds}}
        self.witness.patience = max(self.witness.patience, seconds)

    def view(self) -> model.View:
        """Return the members that have not expired."""
        return self.observer.view()

    @functools.cached_property
    def observer(self) -> backend.MembershipBackend:
        """Return the store as the product itself reads it; never joined."""
        return self._observer('observer')

    @functools.cached_property
    def _witness_backend(self) -> backend.MembershipBackend:
        return self._observer('witness')

    def _observer(self, name: str) -> backend.MembershipBackend:
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

    def _seen_by_witness(self) -> Collection[str]:
        return self._witness_backend.view().hosts

    def _free_nodes(self) -> Mapping[str, str | None]:
        records = SqlRecords(self._for_witness)
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

    def _ttl(self) -> float:
        """Return the time to live of the processes."""
        options = {
            **hosts.FAST['membership'],
            **self.more.get('membership', {}),
        }
        return float(str(options['member_ttl']))

    def _names(self) -> Collection[str]:
        return self.watched | {host.name for host in self.hosts}

    def last_event(self) -> int:
        """Return the id of the newest event; 0 if there is none."""
        newest = sa.select(sa.func.max(tables.events.c.id))
        found = self._for_witness.read(
            lambda conn: conn.execute(newest).scalar()
        )
        return int(found or 0)

    @functools.cached_property
    def _for_witness(self) -> Database:
        opened = open_database(self.connection)
        self._stack.callback(opened.close)
        return opened

    def close(self) -> None:
        """End the witness and free what is open."""
        self.witness.stop()
        self._stack.close()
        super().close()

    def evidence(self) -> laws.Evidence:
        """Return what witness and database server saw."""
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
    """

    kind: databases.PostgreSQL | databases.MariaDB | databases.HAProxy = (
        databases.POSTGRESQL
    )
    patience = 0.0
    faults_survived = 1
    """Number of faults in one test."""

    deployment: Deployment

    def open_store(self, url: str) -> stores.Store:
        """Return the store of the members: not where the records are.

        :param url: of the records' database.
        """
        other = {
            databases.POSTGRESQL: databases.MARIADB,
            databases.MARIADB: databases.POSTGRESQL,
        }
        return stores.DatabaseStore(other[self.kind])

    def fresh_url(self) -> str:
        """Return the URL of an empty database for the records."""
        return self.kind.fresh()

    def deploy(self, connection: str | None = None) -> Deployment:
        """Prepare a deployment whose history is checked at the end."""
        url = connection or self.fresh_url()
        deployment = Deployment(
            self.server.endpoint, url, self.open_store(url), self.patience
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
        deployment.witness.stop()
        self.assert_no_violation(
            deployment,
            laws.violations(deployment.records, deployment.evidence()),
        )

    def assert_no_violation(
        self, deployment: hosts.Deployment, found: Collection[str]
    ) -> None:
        """Note what was survived, and fail if a law was broken."""
        assert isinstance(deployment, Deployment)
        *_, name, test = self.id().split('.')
        survived.note(
            f'{name}: {test.removeprefix("test_").replace("_", " ")}',
            faults=self.faults_survived,
            events=len(deployment.events()),
            violations=len(found),
            unserved=deployment.witness.unserved.longest,
        )
        self.assertEqual([], list(found))

    def proxy_to(self, port: int) -> proxy.Proxy:
        """Return a network of its own for one host."""
        made = proxy.Proxy(port)
        self.addCleanup(made.close)
        return made

    def start(self, *names: str, **options: object) -> list[hosts.Host]:
        """Start hosts, and wait until each knows all."""
        started = [
            self.deployment.launch(name, **options)  # type: ignore[arg-type]
            for name in names
        ]
        self.wait_for_members(*names)
        return started

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

    def enrol(self, count: int = 24) -> tuple[list[str], set[str]]:
        """Add nodes, a quarter of them deployed.

        :returns: all of them, and those that are deployed.
        """
        uuids = self.enrolment.enrol(count, instance_share=0.25)
        return uuids, set(uuids[: round(count * 0.25)])

    def wait_for_ring(
        self, uuids: Collection[str], members: Collection[str]
    ) -> dict[str, str]:
        """Wait until each node has the owner that the ring says.

        :returns: these owners.
        """
        return self.deployment.wait_for_ring(uuids, members)

    def share_of(
        self, uuids: Collection[str], host: str, of: Collection[str]
    ) -> list[str]:
        """Return the nodes that the ring gives to one of several hosts."""
        owners = peer_list.Ring(of).owners(uuids)
        pairs = zip(uuids, owners, strict=True)
        return [uuid for uuid, owner in pairs if owner == host]

    def wait_for_owner(self, uuids: Collection[str], host: str) -> None:
        """Wait until a host owns all of these nodes."""
        self.deployment.wait_until(
            lambda: self.deployment.owned_by(host) >= set(uuids),
            f'nodes of {host}',
        )

    def wait_for_fences(self, running: Collection[hosts.Host]) -> None:
        """Wait until each process has noticed that it has no right."""
        for host in running:
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

    def changes_of_owner(self, after: int = 0) -> list[model.Event]:
        """Return the events by which a node lost its owner."""
        return [
            event
            for event in self.deployment.events()
            if event.kind == EventKind.OWNER_CHANGED
            and event.from_host is not None
            and event.id > after
        ]

    @contextlib.contextmanager
    def nothing_moves(self) -> Iterator[None]:
        """See that no node loses its owner meanwhile."""
        before = self.deployment.last_event()
        yield
        self.assertEqual([], self.changes_of_owner(before))


class RecordsTestCase(IncidentTestCase):
    """Incidents of the records themselves; the members are there as well.

    Records that lose commits, and clocks that differ, tell nothing of lapses:
    the history alone has to keep the laws.
    """

    patience = math.inf

    def open_store(self, url: str) -> stores.Store:
        """Return the store of the members."""
        return stores.RecordsStore(url)
