"""Clients in this process and over HTTP keep one contract."""

from __future__ import annotations

import json

import jsonschema
from keystoneauth1 import noauth, session

from ironic_ownership.api.operation import find_operation
from ironic_ownership.api.operation_client import LocalClient, RemoteClient
from ironic_ownership.clients import ownership
from ironic_ownership.conf import api
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.web import deploy
from tests.contract.suites import operation_clients
from tests.unit.web import app_case


def local_client(case: app_case.SiteCase) -> LocalClient:
    return LocalClient(case.wired, 'test@here', new_request_id())


def remote_client(case: app_case.SiteCase) -> RemoteClient:
    """Serve the deployment of a case on loopback, with small pages."""
    conf = case.configure('[api]\nauth_strategy = noauth\nmax_limit = 2\n')
    api.register_opts(conf)
    url = case.serve(deploy.application(conf, case.wired))
    client = ownership.OwnershipClient(
        session.Session(auth=noauth.NoAuth(endpoint=url)),
        new_request_id(),
    )
    case.addCleanup(client.close)
    return RemoteClient(client)


class TestLocalClient(operation_clients.OperationClientContract):
    def setUp(self) -> None:
        super().setUp()
        self.client = local_client(self)

    def test_actor_and_request_id_are_those_of_the_caller(self) -> None:
        self.client.call('move:create', body=operation_clients.MOVE)
        (move,) = self.client.call('move:list')['moves']
        self.assertEqual(
            ('test@here', self.client.request_id),
            (move['actor'], move['request_id']),
        )
        self.assertRegex(self.client.request_id, '^req-[0-9a-f-]{36}$')


class TestRemoteClient(operation_clients.OperationClientContract):
    def setUp(self) -> None:
        super().setUp()
        self.client = remote_client(self)


class TestBoth(app_case.SiteCase):
    def test_answers_are_equal_json_as_the_schemas_have_it(self) -> None:
        here, there = local_client(self), remote_client(self)
        for name, request in operation_clients.READS:
            answers = here.call(name, **request), there.call(name, **request)
            for found in answers:
                self.assertEqual(found, json.loads(json.dumps(found)), name)
                _, schema = find_operation(name).answers[200]
                jsonschema.validate(found, schema)
                # The second may be read in the next second.
                found.pop('read_at', None)
            self.assertEqual(*answers, name)
