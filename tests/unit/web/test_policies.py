"""Tokens and rules: who may do what, and what a client can't pretend."""

from __future__ import annotations

import re
from typing import Any

import bcrypt
import sqlalchemy as sa
from keystoneauth1.fixture import v3
from keystonemiddleware import fixture
from oslo_context import context

from ironic_ownership.api import operation
from ironic_ownership.contracts import exceptions
from ironic_ownership.db import tables
from ironic_ownership.web import routes
from ironic_ownership.web.policies import list_rules, rule_name
from tests.unit.engine import world
from tests.unit.web import app_case, test_reservations

MOVE = {'service': 'new', 'select': {'uuids': [world.uuid(1)]}}
PUBLIC = ('/', '/openapi.json', '/healthcheck')
SERVICES = '/v1/services'
Access = operation.Access

READ_BY_POST = (
    'compute_node:bulk_check_delete',
    'compute_node:check_action',
    'compute_node:resolve',
    'policy:compare',
    'node:validate',
)
"""Operations that change nothing, and have a body or an unsafe name."""


class ClientsCase(app_case.SiteCase):
    def assert_status(
        self, status: int, path: str, method: str = 'GET', **how: Any
    ) -> None:
        answer = self.client.open(path, method=method, **how)
        self.assertEqual(status, answer.status_code, (path, how))
        if status == 401:
            self.assertIn('www-authenticate', answer.headers)
            self.assertEqual(
                'unauthenticated', answer.get_json()['error']['code']
            )


class KeystoneCase(ClientsCase):
    options = (
        'auth_strategy = keystone\nadmin_projects = p0,p1\n'
        'service_projects = p1'
    )
    sections = (
        '[keystone_authtoken]\nauth_type = password\n'
        'auth_url = http://127.0.0.1:1\n'
        'www_authenticate_uri = http://127.0.0.1:1\n'
    )

    def setUp(self) -> None:
        self.tokens = fixture.AuthTokenFixture()
        self.tokens.setUp()
        self.addCleanup(self.tokens.cleanUp)
        super().setUp()

    def token(
        self,
        *roles: str,
        system: bool = False,
        project: str = 'p1',
        user: str = 'u1',
    ) -> dict[str, str]:
        """Return the headers of a client with these roles.

        :param system: whether they are for the system, or for a project.
        """
        token = v3.Token(user_id=user, user_name='mary')
        if system:
            token.set_system_scope()
        else:
            token.set_project_scope(id=project)
        for role in roles:
            token.add_role(name=role)
        return {'X-Auth-Token': self.tokens.add_token(token)}


class TokensTest(KeystoneCase):
    def test_missing_token_reveals_nothing(self) -> None:
        for method, path in (
            ('GET', SERVICES),
            ('POST', '/v1/moves'),
            ('GET', '/v1/nothing'),
            ('GET', '/metrics'),
            ('GET', f'/{SERVICES}'),
            ('GET', f'/openapi.json/..{SERVICES}'),
        ):
            self.assert_status(401, path, method)
        for path in PUBLIC:
            self.assert_status(200, path)
        self.client = self.build('public_metrics = true')
        self.assert_status(200, '/metrics')
        self.assert_status(401, SERVICES)

    def test_identity_headers_of_a_client_are_ignored(self) -> None:
        pretended = {
            'X-Roles': 'admin',
            'X-User-Id': 'u',
            'X-Identity-Status': 'Confirmed',
        }
        made_up = {'X-Auth-Token': 'made-up'}
        for status, headers in (
            (401, pretended),
            (401, made_up),
            (403, {**self.token('member'), 'X-Roles': 'admin'}),
        ):
            self.assert_status(status, SERVICES, headers=headers)
        # The log of a public path names no user from a header.
        root = {'X-User-Id': 'root', 'X-Domain-Id': 'x'}
        self.client.get('/', headers=root)
        self.assertIsNone(_user_of_the_log())
        # Nor does one name the user of an earlier request.
        for headers, user in (
            (self.token('admin'), 'u1'),
            (made_up, None),
            ({}, None),
        ):
            self.client.get(SERVICES, headers=headers)
            self.assertEqual(user, _user_of_the_log())

    def test_clients_of_other_machines_are_answered(self) -> None:
        there = {'REMOTE_ADDR': '192.0.2.1'}
        admin = self.token('admin')
        self.assert_status(
            200, SERVICES, headers=admin, environ_overrides=there
        )


def _user_of_the_log() -> str | None:
    found = context.get_current()
    assert found is not None
    return found.user_id


class PasswordsTest(ClientsCase):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.directory / 'users'
        self.add('mary', 'secret')
        self.options = (
            'auth_strategy = http_basic\n'
            f'http_basic_auth_user_file = {self.file}'
        )

    def add(self, user: str, password: str) -> None:
        hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4))
        with self.file.open('a') as file:
            file.write(f'{user}:{hashed.decode()}\n')

    def test_user_of_the_file_may_do_everything(self) -> None:
        mary = ('mary', 'secret')
        there = {'REMOTE_ADDR': '192.0.2.1'}
        for path in (SERVICES, '/metrics'):
            self.assert_status(200, path, auth=mary, environ_overrides=there)
        said = self.ask('POST', '/v1/moves', 201, json=MOVE, auth=mary)
        stored = self.get(f'/v1/moves/{said["request_id"]}', auth=mary)
        self.assertEqual('mary@http_basic', stored['actor'])

    def test_other_clients_may_do_nothing(self) -> None:
        for how in (
            {},
            {'auth': ('mary', 'other')},
            {'auth': ('mary', 'secret\0')},
            {'auth': ('john', 'secret')},
            {'headers': {'Authorization': 'Basic !'}},
            {'headers': {'Authorization': 'Bearer x'}},
            {'headers': {'X-User': 'mary', 'X-User-Name': 'mary'}},
        ):
            for path in (SERVICES, '/metrics'):
                self.assert_status(401, path, **how)
        for path in PUBLIC:
            self.assert_status(200, path)

    def test_users_come_and_go_without_a_restart(self) -> None:
        self.add('john', 'other')
        self.assert_status(200, SERVICES, auth=('john', 'other'))
        self.file.write_text('')
        self.assert_status(401, SERVICES, auth=('john', 'other'))

    def test_unusable_file_stops_the_start(self) -> None:
        latin = self.file.with_name('latin')
        latin.write_bytes(b'Jos\xe9:$2y$')
        self.file.write_text('mary:secret')
        for file in (self.file, '/nowhere', latin):
            with self.assertRaises(exceptions.ConfigurationError) as caught:
                self.build(f'http_basic_auth_user_file = {file}')
            self.assertIn(str(file), str(caught.exception))
            self.assertNotIn('%(', str(caught.exception))


class RulesTest(KeystoneCase):
    def test_access_of_each_operation_is_that_of_the_role(self) -> None:
        reader = self.token('reader', system=True)
        both = {Access.PUBLIC, Access.READ_RESERVATIONS}
        for headers, allowed in (
            (self.token('admin'), {*Access}),
            (reader, both | {Access.READ}),
            (self.token('service'), both | {Access.SERVICE}),
            (self.token('member'), {Access.PUBLIC}),
            (self.token('reader'), {Access.PUBLIC}),
        ):
            for one in routes.OPERATIONS:
                answer = self.client.open(
                    re.sub('{.*?}', 'none', one.path),
                    method=one.method,
                    data=b'{',  # no operation takes it
                    headers=headers,
                )
                self.assertIs(
                    one.access not in allowed,
                    answer.status_code == 403,
                    (one.name, answer.text),
                )

    def test_admin_of_another_project_is_a_customer(self) -> None:
        for options, project in (('', 'p2'), ('admin_projects =', 'p1')):
            self.client = self.build(options)
            headers = self.token('admin', project=project)
            for method, path in (
                ('GET', SERVICES),
                ('POST', '/v1/moves'),
                ('GET', '/v1/reservations'),
                ('GET', '/metrics'),
            ):
                self.refused(method, path, 403, headers=headers)

    def test_refusal_names_the_rule_and_the_actor_is_in_the_token(
        self,
    ) -> None:
        member, admin = self.token('member'), self.token('admin')
        move = ('POST', '/v1/moves')
        error = self.refused(*move, 403, json=MOVE, headers=member)
        self.assertEqual('forbidden', error['code'])
        self.assertIn('ironic_ownership:move:create', error['message'])
        self.ask(*move, 201, json=MOVE, headers=admin)
        (stored,) = self.get('/v1/moves', headers=admin)['moves']
        self.assertEqual('u1@p1', stored['actor'])

    def test_operator_changes_a_rule(self) -> None:
        policies = self.directory / 'policy.yaml'
        policies.write_text('"ironic_ownership:service:list": "role:watcher"')
        self.client = self.build(f'[oslo_policy]\npolicy_file = {policies}')
        for role, status in (('watcher', 200), ('admin', 403)):
            self.assert_status(status, SERVICES, headers=self.token(role))


class ReservationsTest(KeystoneCase, test_reservations.ReservingCase):
    """Reservations by the role and the user of a token."""

    def ask_as(
        self,
        headers: Any,
        status: int,
        method: str,
        path: str = '',
        **how: Any,
    ) -> Any:
        path = f'{test_reservations.PATH}{path}'
        return self.ask(method, path, status, headers=headers, **how)

    def reserve_as(self, headers: Any, status: int = 201) -> Any:
        return self.ask_as(headers, status, 'POST', json=self.body())

    def use_as(self, headers: Any, status: int, key: str) -> None:
        for method, tail in (
            ('GET', ''),
            ('POST', '/confirm'),
            ('DELETE', ''),
        ):
            self.ask_as(headers, status, method, f'/{key}{tail}')

    def test_service_role_counts_in_service_projects_only(self) -> None:
        for project, listed, known in (('p1', 200, 404), ('p2', 403, 403)):
            headers = self.token('service', project=project)
            self.ask_as(headers, listed, 'GET')
            self.use_as(headers, known, world.uuid(1))
        self.reserve_as(headers, 403)
        self.client = self.build('service_projects =')
        self.ask_as(self.token('service'), 403, 'GET')

    def test_service_uses_its_own_reservations_alone(self) -> None:
        nova, glance = (
            self.token('service', user=user) for user in ('nova', 'glance')
        )
        made = self.reserve_as(nova)
        self.assertEqual('nova@p1', made['creator'])
        for headers, ids in ((glance, []), (nova, [made['id']])):
            found = self.ask_as(headers, 200, 'GET')['reservations']
            self.assertEqual(ids, [one['id'] for one in found])
        for key in (made['id'], made['instance_uuid']):
            self.use_as(glance, 404, key)
        error = self.reserve_as(glance, 409)['error']
        self.assertEqual('reservation_conflict', error['code'])
        self.assertNotIn(made['id'], str(error))
        self.use_as(nova, 200, made['id'])

    def test_readers_see_and_admins_use_those_of_all_clients(self) -> None:
        made = self.reserve_as(self.token('service', user='nova'))
        path = f'/{made["id"]}'
        for role, status in (('reader', 403), ('admin', 200)):
            headers = self.token(role, system=True)
            found = self.ask_as(headers, 200, 'GET')['reservations']
            self.assertEqual([made['id']], [one['id'] for one in found])
            self.ask_as(headers, 200, 'GET', path)
            self.ask_as(headers, status, 'DELETE', path)

    def test_reservation_without_a_creator_is_of_any_service(self) -> None:
        # Earlier releases did not record it.
        self.reserve_as(self.token('service', user='nova'))
        with self.wired.database.engine.begin() as conn:
            conn.execute(sa.update(tables.reservations).values(creator=None))
        headers = self.token('service', user='other')
        (one,) = self.ask_as(headers, 200, 'GET')['reservations']
        self.ask_as(headers, 200, 'DELETE', f'/{one["id"]}')


class DeclarationsTest(app_case.SiteCase):
    options = 'auth_strategy = keystone'

    def test_what_checks_tokens_has_to_be_configured(self) -> None:
        self.assertRaises(exceptions.ConfigurationError, self.build)
        self.sections = '[keystone_authtoken]\nauth_url = http://127.0.0.1:1'
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            self.build()
        for name in ('www_authenticate_uri', 'auth_type'):
            self.assertIn(name, str(caught.exception))

    def test_access_follows_from_what_an_operation_does(self) -> None:
        names = {rule.name for rule in list_rules()}
        of_reservations = Access.READ_RESERVATIONS, Access.SERVICE
        for one in routes.OPERATIONS:
            changes = one.method != 'GET' and one.name not in READ_BY_POST
            expected = (Access.READ, Access.ADMIN)[changes]
            if one.noun == 'reservation':
                expected = of_reservations[changes]
            if one.path in ('/', '/openapi.json'):
                expected = Access.PUBLIC
            self.assertIs(expected, one.access, one.name)
            # Every one has a rule unless it is public.
            public = expected is Access.PUBLIC
            self.assertEqual(not public, rule_name(one) in names, one)
