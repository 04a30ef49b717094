"""The middleware in a real Ironic: who is admitted, and who is refused.

``tests/unit/ironic_middleware`` has each kind of request and of decision.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import json
from typing import Any, NamedTuple

import testtools

from ironic_ownership.contracts import model
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.contracts.request_header import HEADER, Claim
from lab import ironic, ironic_api, ironic_tokens, process
from lab.enrolment import Enrolment
from tests.functional.support import (
    command_line,
    databases,
    ironics,
    keystones,
)

KEY = 'a key for the tests of the middleware'
_numbers = itertools.count(1)
_PATCH = [{'op': 'add', 'path': '/extra/seen', 'value': 'yes'}]


class _Answer(NamedTuple):
    status: int
    code: str | None
    fault: dict[str, Any]


@functools.cache
def _shared() -> tuple[Enrolment, command_line.Deployment]:
    """Return an Ironic with the middleware, and its records on MariaDB."""
    url = databases.MARIADB.own()
    server = ironic.Ironic(
        databases.temporary_directory('enforcing'),
        middleware={'connection': url, 'shared_keys': f'{"x" * 32},{KEY}'},
        preloads=True,
    )
    atexit.register(server.stop)
    enrolment = Enrolment(server)
    server.start()
    lab = command_line.Deployment(server.endpoint, url)
    atexit.register(lab.close)
    return enrolment, lab


class EnforcementTest(testtools.TestCase):
    """``one`` owns ``node``, whose name is ``name``; ``two`` is another."""

    def setUp(self) -> None:
        super().setUp()
        self.enrolment, self.lab = _shared()
        self.server = self.enrolment.server
        self.server.start()
        self.enrolment.clear()
        number = next(_numbers)
        self.one, self.two = f'one{number}', f'two{number}'
        self.epoch = self.lab.serve(self.one, command_line.ALL)
        self.other = self.lab.serve(self.two, command_line.ALL)
        for host in (self.one, self.two):
            # Else it would be a member when other tests begin.
            self.addCleanup(self.lab.bury, host)
        (self.node,) = self.enrolment.enrol(1)
        self.path = f'/nodes/{self.node}'
        self.name = str(self.server.request('GET', self.path)['name'])
        node = model.Node(self.node, name=self.name, driver='fake-hardware')
        self.lab.claim(self.one, self.epoch, node)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        header: str | None = None,
        endpoint: str | None = None,
        token: str | None = None,
    ) -> _Answer:
        headers = {} if header is None else {HEADER: header}
        if token is not None:
            headers['X-Auth-Token'] = token
        answer = self.server.adapter().request(
            path,
            method,
            json=body,
            headers=headers,
            microversion='1.82',
            raise_exc=False,
            status_code_retries=0,
            endpoint_override=endpoint,
            # Otherwise the adapter sends a token of its own.
            authenticated=token is None,
        )
        fault: Any = {}
        if not answer.ok:
            fault = answer.json().get('error_message', {})
            fault = json.loads(fault) if isinstance(fault, str) else fault
        return _Answer(answer.status_code, fault.get('code'), fault)

    def header(
        self,
        method: str,
        path: str,
        service: str = '',
        epoch: int | None = None,
        node: str | None = None,
    ) -> str:
        """Sign a request, of the owner under its epoch if not given."""
        claim = Claim(
            service or self.one,
            self.epoch if epoch is None else epoch,
            self.node if node is None else node,
        )
        return claim.header(KEY, method, f'/v1{path}')

    def send(
        self,
        method: str = 'PATCH',
        path: str = '',
        body: Any = _PATCH,
        **signed: Any,
    ) -> _Answer:
        """Send a signed request."""
        path = path or self.path
        header = self.header(method, path, **signed)
        return self.ask(method, path, body, header=header)

    def test_only_the_owner_under_its_current_epoch_is_admitted(self) -> None:
        self.assertEqual(200, self.send().status)
        refused = self.send(service=self.two, epoch=self.other)
        self.assertEqual((409, 'not_owner'), refused[:2])
        self.assertEqual(self.one, refused.fault['owner'])
        # It registers again, as after a restart.
        old = self.epoch
        self.epoch = self.lab.serve(self.one, command_line.ALL, alive=False)
        self.assertEqual((409, 'fenced'), self.send(epoch=old)[:2])
        self.assertEqual(200, self.send().status)
        self.lab.records.set_service(self.one, actor='x', forced_down=True)
        for method, path, body in (
            ('PATCH', self.path, _PATCH),
            ('DELETE', self.path, None),
            ('PUT', f'{self.path}/states/power', {'target': 'power on'}),
            ('PUT', f'{self.path}/maintenance', {'reason': 'x'}),
            ('POST', '/volume/targets', {'node_uuid': self.node}),
            ('POST', '/nodes', {'driver': 'fake-hardware', 'name': 'new'}),
            ('POST', '/allocations', {'resource_class': 'x'}),
        ):
            found = self.send(method, path, body)
            self.assertEqual((409, 'forced_down'), found[:2], path)
        done = self.lab.run(
            *('compute', 'node', 'move', self.node),
            *('--service', self.two, '--yes'),
        )
        self.assertEqual(0, done.returncode, done.stderr)
        self.lab.records.set_service(self.one, actor='x', forced_down=False)
        self.epoch = self.lab.serve(self.one, command_line.ALL, alive=False)
        refused = self.send()
        self.assertEqual((409, 'not_owner'), refused[:2])
        self.assertEqual(self.two, refused.fault['owner'])
        found = self.send(service=self.two, epoch=self.other)
        self.assertEqual(200, found.status)

    def test_every_way_to_name_the_node_is_known(self) -> None:
        stranger = {'service': self.two, 'epoch': self.other, 'node': ''}
        for path in (
            self.path,
            f'/nodes/{self.name}/',
            f'/nodes?node_ident={self.node}',
        ):
            found = self.send(path=path, **stranger)
            self.assertEqual((409, 'not_owner'), found[:2], path)
        self.assertEqual(200, self.send(path=f'/nodes/{self.name}').status)
        # Ironic itself does not compare names in one case everywhere.
        found = self.send(path=f'/nodes/{self.name.upper()}')
        self.assertEqual((409, 'not_found'), found[:2])
        # A node that was just enrolled belongs to no service.
        body = {'driver': 'fake-hardware', 'name': 'enrolled'}
        made = self.send('POST', '/nodes', body, node='')
        self.assertEqual(201, made.status)
        self.addCleanup(self.server.request, 'DELETE', '/nodes/enrolled')
        found = self.send(path='/nodes/enrolled', node='')
        self.assertEqual((409, 'not_found'), found[:2])

    def test_what_is_not_signed_is_refused_and_without_header_passes(
        self,
    ) -> None:
        for header in ('x', self.header('DELETE', self.path)):
            found = self.ask('PATCH', self.path, _PATCH, header=header)
            self.assertEqual((403, 'invalid_header'), found[:2])
            self.assertNotIn(self.one, str(found.fault))
        self.assertEqual(200, self.ask('PATCH', self.path, _PATCH).status)

    def test_header_is_required_of_a_role_of_keystone(self) -> None:
        keystone = keystones.shared()
        keystone.start()
        middleware = {
            **(self.server.middleware or {}),
            'require_for': 'role:service, user:paul',
        }
        tokens = self.enterContext(
            ironic_tokens.TokenAPI(
                databases.temporary_directory('tokens'),
                self.server,
                keystone.options(),
                middleware=middleware,
            )
        )

        def ask(token: str, method: str = 'PATCH', **more: str) -> _Answer:
            return self.ask(
                method,
                self.path,
                _PATCH if method == 'PATCH' else None,
                endpoint=f'{tokens.endpoint}/v1',
                token=token,
                **more,
            )

        sven = keystone.token('sven')
        for token in (sven, keystone.token('paul')):
            self.assertEqual((403, 'header_required'), ask(token)[:2])
        self.assertEqual((401, 'unauthenticated'), ask('invalid')[:2])
        # Ironic itself answers these: it has no conductor there.
        good = self.header('PATCH', self.path)
        for found in (
            ask(sven, 'GET'),
            ask(keystone.token('admin')),
            ask(sven, header=good),
        ):
            self.assertIsNone(found.code)
        late = self.header('PATCH', self.path, epoch=self.epoch + 1)
        self.assertEqual('fenced', ask(sven, header=late).code)

    def test_check_sees_whether_ironic_enforces(self) -> None:
        client = ironics.open_ironic(self.server.endpoint)
        self.assertIs(Enforcement.ENFORCED, client.enforcement(KEY))
        self.assertIs(Enforcement.OTHER_KEY, client.enforcement('z' * 32))
        with_it = self.server.middleware
        self.addCleanup(self.restart, with_it)
        self.restart(None)
        self.assertIs(Enforcement.ABSENT, client.enforcement(KEY))
        broken = 'mysql+pymysql://user@127.0.0.1:1/nothing'
        self.restart({**(with_it or {}), 'connection': broken})
        self.assertIs(Enforcement.NO_RECORDS, client.enforcement(KEY))

    def restart(self, middleware: ironic_api.Middleware) -> None:
        self.server.stop()
        self.server.middleware = middleware
        self.server.start()

    def test_without_records_only_requests_with_a_header_are_refused(
        self,
    ) -> None:
        database = databases.MARIADB.server
        self.assertEqual(200, self.send().status)
        database.freeze()
        self.addCleanup(database.thaw)
        found = self.send()
        self.assertEqual((503, 'records_unavailable'), found[:2])
        self.assertEqual(200, self.ask('PATCH', self.path, _PATCH).status)
        self.assertEqual(200, self.ask('GET', self.path).status)
        log = (self.server.directory / 'ironic.log').read_text()
        self.assertIn('Requests with a header are refused', log)
        database.thaw()
        process.wait_for(lambda: self.send().status == 200, 'admission')

    def test_restarted_database_is_found_again(self) -> None:
        self.assertEqual(200, self.send().status)
        databases.MARIADB.server.restart()
        process.wait_for(lambda: self.send().status == 200, 'admission')
        found = self.send(epoch=0)
        self.assertEqual((409, 'fenced'), found[:2])
