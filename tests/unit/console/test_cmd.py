"""``ironic-ownership-console``: its address."""

from __future__ import annotations

import contextlib
import io
import socket
import unittest

from ironic_ownership_console import cmd


class AddressTest(unittest.TestCase):
    def refused(self, status: int, *words: str) -> str:
        """Return the error of a start that fails."""
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            try:
                found = cmd.main(['--endpoint', 'http://127.0.0.1:1', *words])
            except SystemExit as exc:
                found = exc.code  # type: ignore[assignment]
        self.assertEqual(status, found)
        return error.getvalue()

    def test_address_in_use_is_named(self) -> None:
        with socket.create_server(('127.0.0.1', 0)) as other:
            port = str(other.getsockname()[1])
            error = self.refused(1, '--port', port)
        self.assertIn(f'cannot listen on 127.0.0.1, port {port}', error)
        error = self.refused(
            *(1, '--auth-url', 'http://127.0.0.1:1', '--listen', '300.0.0.1')
        )
        self.assertIn('cannot listen on 300.0.0.1', error)

    def test_place_without_its_scheme_is_refused(self) -> None:
        for option in ('--endpoint', '--auth-url'):
            error = self.refused(2, option, '127.0.0.1:1')
            self.assertIn("'127.0.0.1:1' is not a URL", error)

    def test_session_without_an_end_is_refused(self) -> None:
        for seconds in ('nan', 'inf', '0', '-1', 'x'):
            error = self.refused(2, f'--session-lifetime={seconds}')
            self.assertIn('--session-lifetime', error)

    def test_port_that_does_not_exist_is_refused(self) -> None:
        for port in ('70000', '-1', 'x'):
            self.assertIn(port, self.refused(2, f'--port={port}'))
