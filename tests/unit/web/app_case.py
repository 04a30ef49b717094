"""The whole application over a fake Ironic, memory and SQLite."""

from __future__ import annotations

import dataclasses
import functools
import logging
import re
import threading
import urllib.parse
from typing import Any

import jsonschema
from werkzeug import serving, test

from ironic_ownership.backends import memory
from ironic_ownership.conf import api
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.engine.deletion.missing_nodes import Limits
from ironic_ownership.engine.reservations.candidates import CandidateFinder
from ironic_ownership.engine.reservations.eligibility import ServiceReader
from ironic_ownership.engine.reservations.lifecycle import Lifecycle
from ironic_ownership.engine.reservations.reserver import Reserver
from ironic_ownership.web import deploy, routes
from ironic_ownership.wiring import Wiring
from tests.contract.suites import fake_allocations, fake_bare_metal
from tests.unit import configurations
from tests.unit.db import sqlite
from tests.unit.engine import world


class Wired(Wiring):
    """The wiring, over the fakes."""

    own_scope_only = False
    permission_lifetime = 0.0
    service = 'here'
    shared_key = ''

    def __init__(self, database, ironic, backend) -> None:
        super().__init__(None)
        self.database = database
        self.interpret = world.interpret
        self.ironic = ironic
        self.backend = backend
        self.scope = model.Scope()
        self.placement = None
        self.companion = None
        self.reports_inventory = False
        self.limits = Limits(0.0, 0.25, 3)
        self.request_ids: list[str] = []
        self.allocations = fake_allocations.FakeAllocations(ironic.nodes)

    def may_import(self, policy):
        return True

    def new_reserver(self):
        return Reserver(
            ServiceReader(self.records, self.backend, world.interpret),
            CandidateFinder(self.records, lambda: self.ironic),
            Lifecycle(
                self.reservations,
                lambda: self.ironic,
                lambda: self.allocations,
                sleep=lambda seconds: None,
            ),
        )

    def ironic_of(self, request_id=None, fields=()):
        if request_id:
            self.request_ids.append(request_id)
        return self.ironic

    def placement_of(self, request_id=None):
        return self.placement


@functools.cache
def validator_of(method: str, path: str, status: int) -> Any:
    """Return what validates an answer, by the operation that gives it."""
    (one, *_) = [
        one
        for one in routes.OPERATIONS
        if one.method == method
        and re.fullmatch(re.sub(r'{\w+}', '[^/]+', one.path), path)
    ]
    return jsonschema.Draft202012Validator(one.answers[status][1])


class SiteCase(sqlite.SqliteCase, configurations.ConfiguredCase):
    """``old`` owns nodes 1 to 6 and is stopped, ``new`` is alive."""

    options = 'auth_strategy = noauth'
    sections = ''

    def setUp(self) -> None:
        super().setUp()
        database = self.open_with_schema()
        self.records = SqlRecords(database)
        self.ironic = fake_bare_metal.FakeBareMetal(
            world.node(
                number,
                name=f'node{number}',
                driver='fake-hardware',
                provision_state='available',
                power_state='power off',
                shard='a' if number % 2 else 'b',
            )
            for number in range(1, 7)
        )
        self.backend = memory.MemoryBackend(
            {}, member_ttl=3600, call_timeout=5, store=memory.MemoryStore()
        )
        # Their permissions end at once.
        settings = world.advertised(world.ALL, 0.0)
        self.backend.join('new', 'one', settings)
        self.epoch = self.records.register('old', settings)
        self.records.register('new', settings, incarnation='one')
        self.claim('old', self.epoch, *self.ironic.nodes.values())
        self.records.set_service('old', actor='test', disabled=True)
        self.wired = Wired(database, self.ironic, self.backend)
        # A refresh of the metrics that no one waits for reads the records.
        self.addCleanup(self._end_refreshes)

    @staticmethod
    def _end_refreshes() -> None:
        for thread in threading.enumerate():
            if thread.name == 'metrics':
                thread.join()

    @functools.cached_property
    def client(self) -> Any:
        """A client of the application, which many tests do not need."""
        return self.build()

    def claim(self, host: str, epoch: int, *nodes: model.Node) -> None:
        self.records.apply(
            host,
            epoch,
            [Claim(node, reasons.Reason.EXCLUSIVE) for node in nodes],
        )

    def start(
        self,
        host: str = 'old',
        settings: model.MemberSettings = world.ALL,
        incarnation: str = 'two',
    ) -> int:
        """Let a process of a service join and register; return its epoch."""
        settings = world.advertised(settings, 0.0)
        self.backend.join(host, incarnation, settings)
        return self.records.register(host, settings, incarnation=incarnation)

    def change_node(self, number: int, **values: Any) -> model.Node:
        """Change a node in Ironic alone."""
        before = self.ironic.nodes[world.uuid(number)]
        after = dataclasses.replace(before, **values)
        self.ironic.put(after)
        return after

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.records.compute_nodes()}

    def owner(self, number: int) -> str | None:
        return self.owners()[world.uuid(number)]

    def serve(self, application: Any) -> str:
        """Serve an application on loopback; return its URL."""
        logging.getLogger('werkzeug').setLevel(logging.ERROR)
        server = serving.make_server(
            '127.0.0.1', 0, application, threaded=True
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f'http://127.0.0.1:{server.server_port}'

    def build(self, options: str = '') -> test.Client:
        """Return a client of an application of this configuration."""
        conf = self.configure(
            f'{self.sections}\n[api]\n{self.options}\n{options}'
        )
        api.register_opts(conf)
        return test.Client(deploy.application(conf, self.wired))

    def get(self, path: str, status: int = 200, **more: Any) -> Any:
        """Return what is answered, as JSON."""
        return self.ask('GET', path, status, **more)

    def ask(
        self, method: str, path: str, status: int = 200, **more: Any
    ) -> Any:
        found_status, found = self.answer(method, path, **more)
        self.assertEqual(status, found_status, found)
        return found

    def answer(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        """Return status and JSON, whose form is that of the declaration."""
        answer = self.client.open(path, method=method, **more)
        self.headers = answer.headers
        self.assertEqual('application/json', answer.mimetype, answer.text)
        status, found = answer.status_code, answer.get_json()
        if status < 300:
            path = urllib.parse.urlsplit(path).path
            validator_of(method, path, status).validate(found)
        else:
            self.assertEqual(['error'], list(found))
            error = found['error']
            self.assertLessEqual(
                {'code', 'message', 'hint', 'request_id'}, set(error)
            )
            self.assertTrue(error['request_id'].startswith('req-'))
        return status, found

    def walk(self, path: str, key: str) -> list[Any]:
        """Follow the pages to the end; return this key of each row."""
        found: list[Any] = []
        following: str | None = path
        while following is not None:
            page = self.get(following)
            found += [row[key] for row in next(iter(page.values()))]
            self.assertLess(len(found), 100, 'the walk does not end')
            following = page['next']
        return found

    def refused(self, method: str, path: str, status: int, **more: Any) -> Any:
        """Return the error that is answered."""
        return self.ask(method, path, status, **more)['error']
