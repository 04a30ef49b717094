"""Tokens and rules: who may do what, and what a client can't pretend."""

from __future__ import annotations

import os
import pathlib
import re
import tempfile

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

READ_BY_POST = (
    'compute_node:bulk_check_delete',
    'compute_node:check_action',
    'compute_node:resolve',
    'policy:compare',
    'node:validate',
)
"""Operations that change nothing, and have a body or an unsafe name."""


class KeystoneCase(app_case.SiteCase):
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
            ('GET', '/v1/services'),
            ('POST', '/v1/moves'),
            ('GET', '/v1/nothing'),
            ('GET', '/metrics'),
            ('GET', '//v1/services'),
            ('GET', '/openapi.json/../v1/services'),
        ):
            answer = self.client.open(path, method=method)
            self.assertEqual(401, answer.status_code, path)
            self.assertIn('www-authenticate', answer.headers)
            self.assertEqual(
                'unauthenticated', answer.get_json()['error']['code']
            )

    def test_some_paths_are_public(self) -> None:
        for path in ('/', '/openapi.json', '/healthcheck'):
            self.assertEqual(200, self.client.get(path).status_code, path)

    def test_metrics_are_public_if_configured(self) -> None:
        self.client = self.build('public_metrics = true')
        self.assertEqual(200, self.client.get('/metrics').status_code)
        self.assertEqual(401, self.client.get('/v1/services').status_code)

    def test_identity_headers_of_a_client_are_ignored(self) -> None:
        answer = self.client.get(
            '/v1/services',
            headers={
                'X-Roles': 'admin',
                'X-User-Id': 'u',
                'X-Identity-Status': 'Confirmed',
            },
        )
        self.assertEqual(401, answer.status_code)
        answer = self.client.get(
            '/v1/services',
            headers={**self.token('member'), 'X-Roles': 'admin'},
        )
        self.assertEqual(403, answer.status_code)

    def test_unknown_token_is_refused(self) -> None:
        answer = self.client.get(
            '/v1/services', headers={'X-Auth-Token': 'made-up'}
        )
        self.assertEqual(401, answer.status_code)

    def test_log_does_not_name_the_user_of_an_earlier_request(self) -> None:
        self.client.get('/v1/services', headers=self.token('admin'))
        self.assertEqual('u1', _user_of_the_log())
        for headers in ({'X-Auth-Token': 'made-up'}, {}):
            self.client.get('/v1/services', headers=headers)
            self.assertIsNone(_user_of_the_log())

    def test_log_of_a_public_path_names_no_user_from_a_header(self) -> None:
        self.client.get('/', headers={'X-User-Id': 'root', 'X-Domain-Id': 'x'})
        self.assertIsNone(_user_of_the_log())

    def test_clients_of_other_machines_are_answered(self) -> None:
        answer = self.client.get(
            '/v1/services',
            headers=self.token('admin'),
            environ_overrides={'REMOTE_ADDR': '192.0.2.1'},
        )
        self.assertEqual(200, answer.status_code)


def _user_of_the_log() -> str | None:
    found = context.get_current()
    assert found is not None
    return found.user_id


class PasswordsTest(app_case.SiteCase):
    options = 'auth_strategy = http_basic'

    def setUp(self) -> None:
        handle, name = tempfile.mkstemp()
        self.file = pathlib.Path(name)
        self.addCleanup(self.file.unlink)
        os.close(handle)
        self.add('mary', 'secret')
        self.options += f'\nhttp_basic_auth_user_file = {name}'
        super().setUp()

    def add(self, user: str, password: str) -> None:
        hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4))
        with self.file.open('a') as file:
            file.write(f'{user}:{hashed.decode()}\n')

    def test_user_of_the_file_may_do_everything(self) -> None:
        for path in ('/v1/services', '/metrics'):
            answer = self.client.get(
                path,
                auth=('mary', 'secret'),
                environ_overrides={'REMOTE_ADDR': '192.0.2.1'},
            )
            self.assertEqual(200, answer.status_code, path)
        said = self.ask(
            'POST', '/v1/moves', 201, json=MOVE, auth=('mary', 'secret')
        )
        stored = self.get(
            f'/v1/moves/{said["request_id"]}', auth=('mary', 'secret')
        )
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
            for path in ('/v1/services', '/metrics'):
                answer = self.client.get(path, **how)
                self.assertEqual(401, answer.status_code, how)
                self.assertIn('www-authenticate', answer.headers)
                error = answer.get_json()['error']
                self.assertEqual('unauthenticated', error['code'])
        for path in ('/', '/openapi.json', '/healthcheck'):
            self.assertEqual(200, self.client.get(path).status_code, path)

    def test_users_come_and_go_without_a_restart(self) -> None:
        self.add('john', 'other')
        answer = self.client.get('/v1/services', auth=('john', 'other'))
        self.assertEqual(200, answer.status_code)
        self.file.write_text('')
        answer = self.client.get('/v1/services', auth=('john', 'other'))
        self.assertEqual(401, answer.status_code)

    def test_unusable_file_stops_the_start(self) -> None:
        self.file.write_text('mary:secret')
        for file in (self.file, '/nowhere'):
            with self.assertRaises(exceptions.ConfigurationError) as caught:
                self.build(f'http_basic_auth_user_file = {file}')
            self.assertIn(str(file), str(caught.exception))


class RulesTest(KeystoneCase):
    def test_access_of_each_operation_is_that_of_the_role(self) -> None:
        access = operation.Access
        for headers, allowed in (
            (self.token('admin'), {*access}),
            (
                self.token('reader', system=True),
                {access.PUBLIC, access.READ, access.READ_RESERVATIONS},
            ),
            (
                self.token('service'),
                {access.PUBLIC, access.SERVICE, access.READ_RESERVATIONS},
            ),
            (self.token('member'), {access.PUBLIC}),
            (self.token('reader'), {access.PUBLIC}),
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
        for options in ('', 'admin_projects ='):
            self.client = self.build(options)
            headers = self.token('admin', project='p1' if options else 'p2')
            for method, path in (
                ('GET', '/v1/services'),
                ('POST', '/v1/moves'),
                ('GET', '/v1/reservations'),
                ('GET', '/metrics'),
            ):
                self.refused(method, path, 403, headers=headers)

    def test_refusal_names_the_rule(self) -> None:
        error = self.refused(
            'POST', '/v1/moves', 403, json=MOVE, headers=self.token('member')
        )
        self.assertEqual('forbidden', error['code'])
        self.assertIn('ironic_ownership:move:create', error['message'])

    def test_actor_is_who_the_token_says(self) -> None:
        self.ask(
            'POST', '/v1/moves', 201, json=MOVE, headers=self.token('admin')
        )
        (stored,) = self.get('/v1/moves', headers=self.token('admin'))['moves']
        self.assertEqual('u1@p1', stored['actor'])

    def test_operator_changes_a_rule(self) -> None:
        policies = self.directory / 'policy.yaml'
        policies.write_text('"ironic_ownership:service:list": "role:watcher"')
        self.client = self.build(f'[oslo_policy]\npolicy_file = {policies}')
        for role, status in (('watcher', 200), ('admin', 403)):
            answer = self.client.get('/v1/services', headers=self.token(role))
            self.assertEqual(status, answer.status_code, role)


class ReservationsTest(KeystoneCase, test_reservations.ReservingCase):
    """Reservations by the role and the user of a token."""

    def ask_as(
        self, headers, status: int, method: str, path: str = '', **more
    ):
        return self.ask(
            method,
            f'{test_reservations.PATH}{path}',
            status,
            headers=headers,
            **more,
        )

    def reserve_as(self, headers, status: int, number: int = 1):
        return self.ask_as(headers, status, 'POST', json=self.body(number))

    def test_service_role_counts_in_service_projects_only(self) -> None:
        path = f'/{world.uuid(1)}'
        for project, known in (('p1', 404), ('p2', 403)):
            headers = self.token('service', project=project)
            listed = 200 if known == 404 else 403
            self.ask_as(headers, listed, 'GET')
            for method, tail in (
                ('GET', ''),
                ('DELETE', ''),
                ('POST', '/confirm'),
            ):
                self.ask_as(headers, known, method, path + tail)
        self.reserve_as(self.token('service', project='p2'), 403)
        self.client = self.build('service_projects =')
        self.ask_as(self.token('service'), 403, 'GET')

    def test_service_uses_its_own_reservations_alone(self) -> None:
        nova, glance = (
            self.token('service', user=user) for user in ('nova', 'glance')
        )
        made = self.reserve_as(nova, 201)
        self.assertEqual('nova@p1', made['creator'])
        self.assertEqual([], self.ask_as(glance, 200, 'GET')['reservations'])
        for key in (made['id'], made['instance_uuid']):
            for method, tail in (
                ('GET', ''),
                ('DELETE', ''),
                ('POST', '/confirm'),
            ):
                self.ask_as(glance, 404, method, f'/{key}{tail}')
        error = self.reserve_as(glance, 409)['error']
        self.assertEqual('reservation_conflict', error['code'])
        self.assertNotIn(made['id'], str(error))
        self.assertEqual(
            [made['id']],
            [r['id'] for r in self.ask_as(nova, 200, 'GET')['reservations']],
        )
        self.ask_as(nova, 200, 'GET', f'/{made["id"]}')
        self.ask_as(nova, 200, 'POST', f'/{made["id"]}/confirm')
        self.ask_as(nova, 200, 'DELETE', f'/{made["id"]}')

    def test_readers_see_and_admins_use_those_of_all_clients(self) -> None:
        made = self.reserve_as(self.token('service', user='nova'), 201)
        path = f'/{made["id"]}'
        for role in ('reader', 'admin'):
            headers = self.token(role, system=True)
            found = self.ask_as(headers, 200, 'GET')['reservations']
            self.assertEqual([made['id']], [one['id'] for one in found])
            self.ask_as(headers, 200, 'GET', path)
        self.ask_as(self.token('reader', system=True), 403, 'DELETE', path)
        self.ask_as(self.token('admin', system=True), 200, 'DELETE', path)

    def test_reservation_without_a_creator_is_of_any_service(self) -> None:
        # Earlier releases did not record it.
        made = self.reserve_as(self.token('service', user='nova'), 201)
        database = self.wired.database
        with database.engine.begin() as conn:
            conn.execute(sa.update(tables.reservations).values(creator=None))
        headers = self.token('service', user='other')
        self.assertEqual(
            1, len(self.ask_as(headers, 200, 'GET')['reservations'])
        )
        self.ask_as(headers, 200, 'DELETE', f'/{made["id"]}')


class MisconfiguredTest(app_case.SiteCase):
    options = 'auth_strategy = keystone'

    def test_what_checks_tokens_has_to_be_configured(self) -> None:
        self.assertRaises(exceptions.ConfigurationError, self.build)
        self.sections = '[keystone_authtoken]\nauth_url = http://127.0.0.1:1'
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            self.build()
        for name in ('www_authenticate_uri', 'auth_type'):
            self.assertIn(name, str(caught.exception))


class DefaultsTest(app_case.SiteCase):
    def test_every_operation_has_a_rule_unless_it_is_public(self) -> None:
        names = {rule.name for rule in list_rules()}
        for one in routes.OPERATIONS:
            public = one.access is operation.Access.PUBLIC
            self.assertEqual(not public, rule_name(one) in names, one)

    def test_access_follows_from_what_an_operation_does(self) -> None:
        access = operation.Access
        of_reservations = access.READ_RESERVATIONS, access.SERVICE
        for one in routes.OPERATIONS:
            changes = one.method != 'GET' and one.name not in READ_BY_POST
            expected = (access.READ, access.ADMIN)[changes]
            if one.noun == 'reservation':
                expected = of_reservations[changes]
            if one.path in ('/', '/openapi.json'):
                expected = access.PUBLIC
            self.assertIs(expected, one.access, one.name)
