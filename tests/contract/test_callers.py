"""Callers in this process and over HTTP keep one contract."""

from __future__ import annotations

import threading
from wsgiref import simple_server

from keystoneauth1 import noauth, session

from ironic_ownership.api import caller
from ironic_ownership.clients import ownership
from ironic_ownership.conf import api
from ironic_ownership.engine import request_id
from ironic_ownership.web import application
from tests.contract.suites import callers
from tests.unit.web import app_case


class _Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002


def local_caller(case: app_case.SiteCase) -> caller.LocalCaller:
    return caller.LocalCaller(case.wired, 'test@here', request_id.new_id())


def remote_caller(case: app_case.SiteCase) -> caller.RemoteCaller:
    """Serve the deployment of a case on loopback, with small pages."""
    conf = case.configure('[api]\nauth_strategy = noauth\nmax_limit = 2\n')
    api.register_opts(conf)
    served = application.build(conf, case.wired)
    server = simple_server.make_server(
        '127.0.0.1', 0, served, handler_class=_Quiet
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    case.addCleanup(server.server_close)
    case.addCleanup(thread.join)
    case.addCleanup(server.shutdown)
    url = f'http://127.0.0.1:{server.server_port}'
    client = ownership.OwnershipClient(
        session.Session(auth=noauth.NoAuth(endpoint=url)),
        request_id.new_id(),
    )
    case.addCleanup(client.close)
    return caller.RemoteCaller(client)


class TestLocalCaller(callers.CallerContract):
    def setUp(self) -> None:
        super().setUp()
        self.caller = local_caller(self)

    def test_actor_and_request_id_are_those_of_the_caller(self) -> None:
        self.caller.call('move:create', body=callers.MOVE)
        (move,) = self.caller.call('move:list')['moves']
        self.assertEqual(
            ('test@here', self.caller.request_id),
            (move['actor'], move['request_id']),
        )


class TestRemoteCaller(callers.CallerContract):
    def setUp(self) -> None:
        super().setUp()
        self.caller = remote_caller(self)


class TestBoth(app_case.SiteCase):
    def test_answers_are_equal(self) -> None:
        here, there = local_caller(self), remote_caller(self)
        for name, request in callers.READS:
            self.assertEqual(
                here.call(name, **request), there.call(name, **request), name
            )
