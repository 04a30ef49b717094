"""The middleware in a real Ironic: who is admitted, and who is refused."""

from __future__ import annotations

import atexit
import functools
import itertools
import json
from typing import Any, NamedTuple

import testtools

from ironic_ownership.contracts import model
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.contracts.events import EventKind
from ironic_ownership.contracts.request_header import HEADER, Claim
from lab import ironic, ironic_api, ironic_tokens, process
from lab.enrolment import Enrolment
from tests.functional.support import (
    command_line,
    databases,
    hosts,
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


class _Shared(NamedTuple):
    enrolment: Enrolment
    lab: command_line.Deployment


@functools.cache
def _shared() -> _Shared:
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
    return _Shared(enrolment, lab)


class EnforcementCase(testtools.TestCase):
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
        self.name = str(self.read()['name'])
        self.lab.claim(self.one, self.epoch, self.record())

    def record(self) -> model.Node:
        return model.Node(self.node, name=self.name, driver='fake-hardware')

    def read(self) -> dict[str, Any]:
        return self.server.request('GET', f'/nodes/{self.node}')

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

    def send(
        self,
        method: str = 'PATCH',
        rest: str = '',
        body: Any = _PATCH,
        *,
        service: str | None = None,
        epoch: int | None = None,
        node: str | None = None,
        path: str | None = None,
    ) -> _Answer:
        """Send a signed request."""
        path = path or f'/nodes/{self.node}{rest}'
        claim = Claim(
            service or self.one,
            self.epoch if epoch is None else epoch,
            self.node if node is None else node,
        )
        header = claim.header(KEY, method, f'/v1{path}')
        return self.ask(method, path, body, header=header)


class TestOwner(EnforcementCase):
    def test_only_the_owner_under_its_current_epoch_is_admitted(self) -> None:
        self.assertEqual(200, self.send().status)
        refused = self.send(service=self.two, epoch=self.other)
        self.assertEqual((409, 'not_owner'), refused[:2])
        self.assertEqual(self.one, refused.fault['owner'])
        self.assertEqual((409, 'fenced'), self.send(epoch=0)[:2])
        # It registers again, as after a restart.
        old = self.epoch
        self.epoch = self.lab.serve(self.one, command_line.ALL, alive=False)
        self.assertEqual((409, 'fenced'), self.send(epoch=old)[:2])
        self.assertEqual(200, self.send().status)
        self.lab.records.set_service(self.one, actor='x', forced_down=True)
        self.assertEqual((409, 'forced_down'), self.send()[:2])
        self.move()
        self.lab.records.set_service(self.one, actor='x', forced_down=False)
        self.epoch = self.lab.serve(self.one, command_line.ALL, alive=False)
        refused = self.send()
        self.assertEqual((409, 'not_owner'), refused[:2])
        self.assertEqual(self.two, refused.fault['owner'])
        found = self.send(service=self.two, epoch=self.other)
        self.assertEqual(200, found.status)

    def move(self) -> None:
        done = self.lab.run(
            *('compute', 'node', 'move', self.node),
            *('--service', self.two, '--yes'),
        )
        self.assertEqual(0, done.returncode, done.stderr)

    def test_no_kind_of_change_passes_the_middleware(self) -> None:
        target = {
            'node_uuid': self.node,
            'volume_type': 'iscsi',
            'volume_id': 'v',
            'boot_index': 0,
        }
        made = self.send('POST', body=target, path='/volume/targets')
        self.assertEqual(201, made.status)
        targets = self.server.request('GET', '/volume/targets')['targets']
        (volume,) = (t['uuid'] for t in targets if t['volume_id'] == 'v')
        before = self.read()
        self.lab.records.set_service(self.one, actor='x', forced_down=True)
        for method, rest, body in (
            ('PATCH', '', _PATCH),
            ('DELETE', '', None),
            ('PUT', '/states/power', {'target': 'power on'}),
            ('PUT', '/states/provision', {'target': 'active'}),
            ('PUT', '/states/console', {'enabled': True}),
            ('PUT', '/maintenance', {'reason': 'x'}),
            ('DELETE', '/maintenance', None),
            ('POST', '/vifs', {'id': 'x'}),
            ('DELETE', '/vifs/x', None),
            ('PUT', '/traits', {'traits': ['CUSTOM_X']}),
            ('PUT', '/traits/CUSTOM_X', None),
            ('DELETE', '/traits', None),
            ('PUT', '/management/boot_device', {'boot_device': 'pxe'}),
            ('PUT', '/management/inject_nmi', {}),
            ('POST', '/vendor_passthru?method=bmc_reset', {}),
        ):
            found = self.send(method, rest, body)
            self.assertEqual((409, 'forced_down'), found[:2], rest)
        for method, path, body in (
            ('POST', '/volume/targets', {**target, 'boot_index': 1}),
            ('DELETE', f'/volume/targets/{volume}', None),
            ('POST', '/ports', {'node_uuid': self.node, 'address': 'x'}),
            ('POST', '/nodes', {'driver': 'fake-hardware', 'name': 'new'}),
            ('POST', '/allocations', {'resource_class': 'x'}),
        ):
            found = self.send(method, body=body, path=path)
            self.assertEqual((409, 'forced_down'), found[:2], path)
        self.assertEqual(before, self.read())
        self.assertEqual(200, self.ask('GET', f'/nodes/{self.node}').status)

    def test_every_way_to_name_the_node_is_known(self) -> None:
        stranger = {'service': self.two, 'epoch': self.other, 'node': ''}
        for path in (
            f'/nodes/{self.node}',
            f'/nodes/{self.name}',
            f'/nodes/{self.name}/',
            f'/nodes?node_ident={self.node}',
        ):
            found = self.send(path=path, **stranger)
            self.assertEqual((409, 'not_owner'), found[:2], path)
        self.assertEqual(200, self.send(path=f'/nodes/{self.name}').status)
        # Ironic itself does not compare names in one case everywhere.
        found = self.send(path=f'/nodes/{self.name.upper()}')
        self.assertEqual((409, 'not_found'), found[:2])

    def test_enrolled_node_belongs_to_no_service_at_first(self) -> None:
        made = self.send(
            'POST',
            body={'driver': 'fake-hardware', 'name': 'enrolled'},
            path='/nodes',
            node='',
        )
        self.assertEqual(201, made.status)
        self.addCleanup(self.server.request, 'DELETE', '/nodes/enrolled')
        found = self.send(path='/nodes/enrolled', node='')
        self.assertEqual((409, 'not_found'), found[:2])

    def test_restart_of_ironic_changes_nothing(self) -> None:
        self.server.stop()
        self.epoch = self.lab.serve(self.one, command_line.ALL, alive=False)
        self.server.start()
        self.assertEqual(200, self.send().status)
        found = self.send(epoch=self.epoch - 1)
        self.assertEqual((409, 'fenced'), found[:2])


class TestOthers(EnforcementCase):
    def test_what_is_not_signed_is_refused_and_without_header_passes(
        self,
    ) -> None:
        path = f'/nodes/{self.node}'
        claim = Claim(self.one, self.epoch, self.node)
        for header in (
            'x',
            claim.header('y' * 32, 'PATCH', path),
            claim.header(KEY, 'DELETE', path),
            claim.header(KEY, 'PATCH', f'{path}/states/power'),
        ):
            found = self.ask('PATCH', path, _PATCH, header=header)
            self.assertEqual((403, 'invalid_header'), found[:2])
            self.assertNotIn(self.one, str(found.fault))
        self.assertEqual(200, self.ask('PATCH', path, _PATCH).status)

    def test_header_is_required_of_a_role_of_keystone(self) -> None:
        keystone = keystones.shared()
        keystone.start()
        tokens = self.enterContext(
            ironic_tokens.TokenAPI(
                databases.temporary_directory('tokens'),
                self.server,
                keystone.options(),
                middleware={
                    **(self.server.middleware or {}),
                    'require_for': 'role:service, user:paul',
                },
            )
        )

        def ask(user: str, method: str = 'PATCH', **more: str) -> _Answer:
            return self.ask(
                method,
                f'/nodes/{self.node}',
                _PATCH if method == 'PATCH' else None,
                endpoint=f'{tokens.endpoint}/v1',
                token=keystone.token(user),
                **more,
            )

        for user in ('sven', 'paul'):
            self.assertEqual((403, 'header_required'), ask(user)[:2])
            self.assertNotEqual('header_required', ask(user, 'GET').code)
        # Ironic itself answers these: it has no conductor there.
        self.assertNotEqual('header_required', ask('admin').code)
        claim = Claim(self.one, self.epoch, self.node)
        header = claim.header(KEY, 'PATCH', f'/v1/nodes/{self.node}')
        self.assertNotEqual('header_required', ask('sven', header=header).code)
        claim = Claim(self.one, self.epoch + 1, self.node)
        header = claim.header(KEY, 'PATCH', f'/v1/nodes/{self.node}')
        self.assertEqual('fenced', ask('sven', header=header).code)
        bad = self.ask(
            'PATCH',
            f'/nodes/{self.node}',
            _PATCH,
            endpoint=f'{tokens.endpoint}/v1',
            token='invalid',
        )
        self.assertEqual((403, 'header_required'), bad[:2])


class TestProbe(EnforcementCase):
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


class TestOutage(EnforcementCase):
    def test_without_records_only_requests_with_a_header_are_refused(
        self,
    ) -> None:
        database = databases.MARIADB.server
        self.assertEqual(200, self.send().status)
        database.freeze()
        self.addCleanup(database.thaw)
        found = self.send()
        self.assertEqual((503, 'records_unavailable'), found[:2])
        path = f'/nodes/{self.node}'
        self.assertEqual(200, self.ask('PATCH', path, _PATCH).status)
        self.assertEqual(200, self.ask('GET', path).status)
        log = (self.server.directory / 'ironic.log').read_text()
        self.assertIn('Requests with a header are refused', log)
        database.thaw()
        process.wait_for(lambda: self.send().status == 200, 'admission')

    def test_restarted_database_is_found_again(self) -> None:
        database = databases.MARIADB.server
        self.assertEqual(200, self.send().status)
        database.restart()
        process.wait_for(lambda: self.send().status == 200, 'admission')
        found = self.send(epoch=0)
        self.assertEqual((409, 'fenced'), found[:2])


class TestStandingOrder(testtools.TestCase):
    """Two services share nodes by a ring; one has an order, and is killed."""

    names = 'ordered1', 'ordered2'

    def setUp(self) -> None:
        super().setUp()
        shared = _shared()
        shared.enrolment.server.start()
        shared.enrolment.clear()
        self.deployment = hosts.Deployment(
            shared.enrolment.server.endpoint, shared.lab.url
        )
        self.deployment.more = {'enforcement': {'shared_key': KEY}}
        self.addCleanup(self.deployment.close)
        self.addCleanup(self.deployment.stop)

    def start(self, name: str) -> hosts.Host:
        return self.deployment.start(
            name, ironic={'peer_list': ','.join(self.names)}
        )

    def order(self, name: str, *words: str) -> None:
        done = self.deployment.operate('service', 'set', name, *words, '--yes')
        self.assertEqual(0, done.returncode, done)

    def codes(self) -> set[str]:
        done = self.deployment.operate('check', '-f', 'json')
        return {row['code'] for row in json.loads(done.stdout)}

    def instances(self) -> dict[str, str | None]:
        return {
            node.uuid: node.instance_uuid
            for node in self.deployment.records.compute_nodes()
            if node.uuid in self.nodes
        }

    def test_deployed_nodes_of_a_dead_service_move_as_ordered(self) -> None:
        deployment = self.deployment
        running = {name: self.start(name) for name in self.names}
        deployment.wait_for_members(*self.names)
        # Now: a service that is alone for a moment would adopt them all.
        self.nodes = _shared().enrolment.enrol(
            12, instance_share=0.5, prefix='order', same_every_time=True
        )
        self.deployed = {*self.nodes[:6]}
        owners = deployment.wait_for_ring(self.nodes, self.names)
        dead = owners[self.nodes[0]]
        (heir,) = {*self.names} - {dead}
        instances = self.instances()
        self.assertEqual(
            self.deployed, {node for node, one in instances.items() if one}
        )
        self.order(
            dead, '--take-over-deployed-after', '2', '--reason', 'on call'
        )
        running[dead].kill()
        deployment.wait_until(
            lambda: {*self.nodes} <= deployment.owned_by(heir), 'new owners'
        )
        self.assertEqual(instances, self.instances())
        moved = {
            event.node_uuid
            for event in deployment.events()
            if event.kind == EventKind.NODE_MOVED
            and event.from_host == dead
            and event.actor == heir
        }
        left = {node for node in self.deployed if owners[node] == dead}
        self.assertEqual(left, moved)
        self.start(dead)
        deployment.wait_until(
            lambda: 'nodes_taken' in self.codes(), 'condition'
        )
        self.assertLessEqual(left, deployment.owned_by(heir))
        self.order(dead, '--no-take-over-deployed')
        deployment.wait_until(
            lambda: 'nodes_taken' not in self.codes(), 'end of the condition'
        )
