"""Commands run twice: on the database, and at the HTTP service."""

from __future__ import annotations

import json
from typing import Any

from tests.functional.support import api_process, command_line


class BothWaysCase(api_process.ApiCase):
    """A deployment with an HTTP service without Keystone, on loopback."""

    policies = 'all'

    def setUp(self) -> None:
        super().setUp()
        self.config = self.configure(policies=self.policies)
        self.api = self.run_server(api_process.program(self.config, self.log))
        self.remote_options = ['--os-endpoint-override', self.api.url]

    def local(self, *words: str) -> command_line.Done:
        """Run a command on the database."""
        return self.lab.run(*words, config=self.config)

    def remote(self, *words: str) -> command_line.Done:
        """Run a command at the HTTP service, without a configuration."""
        return command_line.run(*self.remote_options, *words)

    def same(
        self, code: int, *words: str, local: str = '', remote: str = ''
    ) -> str:
        """Run a command both ways, and return its standard output.

        :param code: the exit code of both.
        :param local: a text that only the output on the database has.
        :param remote: the text in its place in the other output.
        """
        first, second = self.local(*words), self.remote(*words)
        self.assertEqual(code, first.returncode, first)
        for stream in ('stdout', 'stderr'):
            expected = getattr(first, stream)
            if local:
                expected = expected.replace(local, remote)
            self.assertEqual(expected, getattr(second, stream), words)
        self.assertEqual(code, second.returncode, second)
        return first.stdout

    def same_in_all_formats(self, code: int, *words: str) -> Any:
        """Run a command both ways, as a table and as JSON.

        :returns: what the JSON says.
        """
        self.same(code, *words)
        return json.loads(self.same(code, *words, '-f', 'json'))
