"""The program ``ironic-ownership`` as an operator runs it, and its records."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db import connection, schema
from ironic_ownership.db import heartbeats as backend_db
from ironic_ownership.db.records import SqlRecords
from tests.functional.support import databases, programs
from tests.unit.db import sqlite

PROGRAM = pathlib.Path(sys.executable).parent / 'ironic-ownership'
Done = programs.Done

TIMEOUT = 180.0
"""Seconds that one run may take."""

_MEMBER_TTL = 3600
"""Seconds: the members beat once, when they join, and outlive the test."""

ALL = model.MemberSettings((model.PolicySettings('all'),))


def shard(name: str) -> model.MemberSettings:
    return model.MemberSettings(
        (model.PolicySettings.of('shard_key', {'shard_key': name}),)
    )


def group(name: str) -> model.MemberSettings:
    return model.MemberSettings(
        (
            model.PolicySettings.of(
                'conductor_group', {'conductor_group': name}
            ),
        )
    )


class Deployment:
    """A directory with a configuration, a database and services.

    :param url: of the database; an SQLite file if not given.
    """

    def __init__(
        self, ironic: str = 'http://127.0.0.1:1', url: str | None = None
    ) -> None:
        self.directory = databases.temporary_directory('cli')
        self.ironic = ironic
        self._on_server = url is not None
        self.url = url or f'sqlite:///{self.directory}/ironic-ownership.db'
        self._database = connection.open_database(self.url)
        if url is None:
            sqlite.create(self.directory / 'ironic-ownership.db')
        else:
            schema.upgrade(self._database)
        self.records = SqlRecords(self._database)
        self._members: dict[str, backend_db.DatabaseBackend] = {}
        self.config = self.configure()

    def configure(
        self,
        name: str = 'main',
        *,
        host: str = 'operator',
        policies: str = 'all',
        ironic: str = '',
        more: str = '',
    ) -> pathlib.Path:
        """Write a configuration file.

        :param ironic: lines for ``[ironic]``.
        :param more: sections of their own.
        """
        path = self.directory / f'{name}.conf'
        if self._on_server:
            more = f'[database]\nconnection = {self.url}\n{more}'
        path.write_text(
            f'[DEFAULT]\nhost = {host}\nstate_path = {self.directory}\n'
            f'[membership]\nmember_ttl = {_MEMBER_TTL}\n'
            f'[ownership]\npolicies = {policies}\n'
            f'[ironic]\nauth_type = none\nendpoint_override = {self.ironic}\n'
            f'{ironic}\n{more}\n'
        )
        return path

    def serve(
        self, host: str, settings: model.MemberSettings, *, alive: bool = True
    ) -> int:
        """Register a service, and have it join; return its epoch."""
        if alive:
            member = backend_db.DatabaseBackend(
                {'connection': self.url},
                member_ttl=_MEMBER_TTL,
                call_timeout=30,
            )
            self._members[host] = member
            member.join(host, f'incarnation-of-{host}', settings)
        return self.records.register(
            host,
            settings,
            incarnation=f'incarnation-of-{host}' if alive else None,
        )

    def bury(self, host: str) -> None:
        self._members[host].leave()

    def claim(self, host: str, epoch: int, *nodes: model.Node) -> None:
        outcome = self.records.apply(
            host,
            epoch,
            [Claim(n, reasons.Reason.EXCLUSIVE) for n in nodes],
        )
        assert not outcome.refused, outcome

    def run(self, *words: str, config: pathlib.Path | None = None) -> Done:
        return run('--config-file', str(config or self.config), *words)

    def json(self, *words: str, config: pathlib.Path | None = None) -> Any:
        done = self.run(*words, '-f', 'json', config=config)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def close(self) -> None:
        for member in self._members.values():
            member.close()
        self._database.close()


def run(*words: str, env: dict[str, str] | None = None) -> Done:
    """Run the installed program, away from the checkout.

    :param env: variables to add.
    """
    return programs.run([str(PROGRAM), *words], TIMEOUT, env=env or {})
