"""The console as an operator installs it: its wheel, and what that requires.

The package itself is not in the environment.
"""

from __future__ import annotations

import pathlib
import re

import requests

from lab import process
from tests.functional.support import databases, installations, served
from tests.unit.console import test_pages

_PACKAGE = installations.CHECKOUT / 'console' / 'ironic_ownership_console'
_OWN_IMPORT = """
import importlib.util
print(importlib.util.find_spec('ironic_ownership'))
"""


class TestWheel(served.ServedCase):
    def setUp(self) -> None:
        super().setUp()
        root = databases.temporary_directory('console-wheel')
        wheel = installations.own_wheel('console')
        self.programs = installations.fresh_environment(root / 'venv', wheel)
        self.port = process.free_port()
        console = process.Process(
            [
                str(self.programs / 'ironic-ownership-console'),
                *('--endpoint', self.api, '--port', str(self.port)),
            ],
            root / 'console.log',
        ).start()
        self.addCleanup(console.stop)
        process.wait_for(lambda: process.answers_tcp(self.port), 'console')

    def get(self, path: str) -> requests.Response:
        return requests.get(f'http://127.0.0.1:{self.port}{path}', timeout=60)

    def test_it_serves_each_page_and_file_without_the_package(self) -> None:
        python = self.programs / 'python'
        found = installations.run(python, '-c', _OWN_IMPORT, cwd=self.programs)
        self.assertEqual('None', found.strip())
        linked = set()
        for path in test_pages.PATHS:
            page = self.get(path)
            self.assertEqual(200, page.status_code, f'{path}: {page.text}')
            self.assertIn('</html>', page.text)
            linked |= set(
                re.findall(r'(?:href|src)="/static/(.*?)"', page.text)
            )
        self.assertIn('console.css', linked)
        files = {one.name: one for one in (_PACKAGE / 'static').iterdir()}
        self.assertLessEqual(linked, files.keys())
        for name, file in files.items():
            served_file = self.get(f'/static/{name}')
            self.assertEqual(file.read_bytes(), served_file.content, name)
        [package] = pathlib.Path(self.programs.parent).glob(
            'lib/python*/site-packages/ironic_ownership_console'
        )
        self.assertTrue((package / 'py.typed').exists())
