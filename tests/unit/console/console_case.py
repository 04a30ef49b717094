"""The console over the real HTTP service, in this process, without a port."""

from __future__ import annotations

import re
from typing import Any

import jinja2
import requests
from jinja2 import bccache
from requests import adapters
from werkzeug import test

from ironic_ownership_console import app, keystone
from ironic_ownership_console.service import Service
from tests.unit.web import app_case

LOCAL = 'http://127.0.0.1/'


class _Compiled(jinja2.BytecodeCache):
    """Templates are compiled once for all tests."""

    def __init__(self) -> None:
        self._codes: dict[str, bytes] = {}

    def load_bytecode(self, bucket: bccache.Bucket) -> None:
        if bucket.key in self._codes:
            bucket.bytecode_from_string(self._codes[bucket.key])

    def dump_bytecode(self, bucket: bccache.Bucket) -> None:
        self._codes[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


class _InProcess(adapters.BaseAdapter):
    """Sends the requests of a session to a test client."""

    def __init__(self, case: ConsoleCase) -> None:
        super().__init__()
        self._case = case

    def send(self, request: Any, **how: Any) -> requests.Response:
        self._case.sent.append(request)
        found = self._case.client.open(
            request.path_url,
            method=request.method,
            data=request.body,
            headers=dict(request.headers),
        )
        answer = requests.Response()
        instead = self._case.instead_of(request.path_url)
        answer.status_code = instead or found.status_code
        answer._content = b'{}' if instead else found.data
        answer.request = request
        return answer

    def close(self) -> None:
        pass


class ConsoleCase(app_case.SiteCase):
    """``old`` owns six nodes and is dead; ``new`` is alive."""

    auth_url = ''
    lifetime = 3600.0

    def setUp(self) -> None:
        super().setUp()
        self.sent: list[Any] = []
        self.instead = 0
        self.of_path: dict[str, int] = {}
        self.now = 1000.0
        session = requests.Session()
        session.mount('http://', _InProcess(self))
        self.pages = app.build(
            Service('http://service', session),
            auth_url=self.auth_url,
            lifetime=self.lifetime,
            clock=lambda: self.now,
            sign_in=self.sign_in,
        )
        self.pages.jinja_env.bytecode_cache = _COMPILED
        self.browser = test.Client(self.pages)

    def instead_of(self, path: str) -> int:
        """Return the status to answer with; 0 for that of the service."""
        statuses = [s for end, s in self.of_path.items() if path.endswith(end)]
        return self.instead or sum(statuses)

    def sign_in(self, auth_url: str, **given: str) -> keystone.SignedIn:
        if given['password'] != 'right':
            raise keystone.SignInError('User or password is wrong.')
        return keystone.SignedIn(given['user'], 'the-token', 600)

    def page(self, path: str, status: int = 200, **more: Any) -> str:
        """Return a page."""
        self.answer = self.browser.open(path, base_url=LOCAL, **more)
        text = self.answer.get_data(as_text=True)
        self.assertEqual(status, self.answer.status_code, text)
        return text

    def send(self, path: str, status: int = 200, **form: str) -> str:
        """Send a form as its page has it: with its hidden fields."""
        hidden = dict(
            re.findall(
                r'type="hidden" name="(\w+)" value="([^"]*)"',
                self.page('/act/pause'),
            )
        )
        return self.page(path, status, method='POST', data={**hidden, **form})
