"""Configuration files that change under running hosts, and SIGHUP."""

from __future__ import annotations

import signal

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventKind
from lab.http_server import Answer, Request
from tests.functional.support import hosts, ironics

REFUSED = 'configuration not reloaded'
RELOADED = 'configuration reloaded'
VERSION = 'X-OpenStack-Ironic-API-Maximum-Version'


class AgeingProxy(ironics.RecordingProxy):
    """An Ironic that is as old as a test says.

    :ivar newest: what it says is its newest API version.
    """

    newest: str | None = None

    def _ask(self, request: Request) -> Answer:
        status, headers, body = super()._ask(request)
        if self.newest:
            others = [h for h in headers if h[0].lower() != VERSION.lower()]
            headers = [*others, (VERSION, self.newest)]
        return status, headers, body


def reload(host: hosts.Host, **sections: object) -> None:
    """Change options in the file of a host, and send SIGHUP.

    :param sections: options by group; the last line of a name counts.
    """
    more = hosts.text_of(sections)  # type: ignore[arg-type]
    host.config.write_text(f'{host.config.read_text()}\n{more}')
    host.process.signal(signal.SIGHUP)


class ReloadsTestCase(hosts.HostsTestCase):
    """Says what a reload did, and proves that it cost no membership."""

    def row(self, host: str) -> model.Service:
        rows = self.deployment.records.services()
        return next(row for row in rows if row.host == host)

    def reload_and_wait(self, host: hosts.Host, **sections: object) -> None:
        before = len(host.lines(RELOADED))
        reload(host, **sections)
        self.wait_for_lines(host, RELOADED, before + 1)

    def wait_for_lines(
        self, host: hosts.Host, text: str, times: int = 1
    ) -> None:
        self.deployment.wait_until(
            lambda: len(host.lines(text)) >= times, f'{times} x {text!r}'
        )

    def wait_for_error(self, host: str, *words: str) -> None:
        """Wait until the row of a service names a refusal."""
        self.deployment.wait_until(
            lambda: all(
                word in (self.row(host).config_error or '') for word in words
            ),
            f'refusal that names {words}',
        )

    def assert_never_left(self, host: hosts.Host) -> None:
        """See one join, one registration, one epoch of a host."""
        self.assertEqual(1, len(host.lines(' joined as ')))
        registered = [
            event.kind == EventKind.SERVICE_REGISTERED
            and event.actor == host.name
            for event in self.deployment.events()
        ]
        self.assertEqual(1, sum(registered))
        self.assertIsNone(host.process.returncode)
        self.assertEqual('', host.output())
        self.assertEqual([], host.lines('Traceback'))
