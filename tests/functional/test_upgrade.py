"""Upgrade: services of the previous release and of this one, side by side."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import uuid
from typing import ClassVar

from ironic_ownership.contracts.reservations import Request, Reservation
from ironic_ownership.db import connection, reservations, schema, tables
from tests.contract import newer_schema
from tests.functional.support import (
    databases,
    hosts,
    installations,
    programs,
)

_HOST = hosts.COMMAND[-1]


def previous_release(directory: pathlib.Path) -> pathlib.Path:
    """Install the newest release, without what it requires.

    :returns: a directory for ``PYTHONPATH``.
    """
    text = (installations.CHECKOUT / 'RELEASES').read_text()
    version, commit = text.splitlines()[-1].split()
    source = directory / 'source'
    installations.run(
        *('git', 'clone', '--quiet', '--no-checkout'),
        *(installations.CHECKOUT, source),
        cwd=directory,
    )
    installations.run('git', 'checkout', '--quiet', commit, cwd=source)
    # Its version is the newest tag's, which a clone may lack.
    installations.run('git', 'tag', '--force', version, cwd=source)
    (directory / 'wheel').mkdir()
    wheel = installations.wheel_of(source, directory / 'wheel')
    installations.run(
        *(sys.executable, '-m', 'pip', 'install', '--quiet', '--no-deps'),
        *('--disable-pip-version-check', '--target', directory / 'old', wheel),
        cwd=directory,
    )
    return directory / 'old'


class TestUpgrade(hosts.HostsTestCase):
    """One service after the other is restarted, while the others serve."""

    old: ClassVar[pathlib.Path]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        directory = pathlib.Path(tempfile.mkdtemp(prefix='upgrade-'))
        cls.addClassCleanup(shutil.rmtree, directory)
        cls.old = previous_release(directory)

    def setUp(self) -> None:
        super().setUp()
        self.deployment = self.deploy(databases.POSTGRESQL.fresh())
        # As long as a restart may take anywhere.
        self.deployment.more = {'membership': {'restart_grace': 120}}

    def run_old(self, code: str, *arguments: object) -> str:
        return subprocess.run(
            [sys.executable, '-P', '-c', code, *map(str, arguments)],
            env=self.environment(),
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        ).stdout.strip()

    def environment(self) -> dict[str, str]:
        return {**os.environ, 'PYTHONPATH': str(self.old)}

    def start_old(self, name: str) -> hosts.Host:
        # Without -P the checkout comes first.
        self.deployment.command = (sys.executable, '-P', '-c', _HOST)
        self.deployment.environment = self.environment()
        return self.deployment.start(name)

    def start_new(self, name: str) -> hosts.Host:
        self.deployment.command = ()
        self.deployment.environment = None
        return self.deployment.start(name)

    def upgrade_schema(self) -> None:
        before = self.deployment.database.revision()
        schema.upgrade(self.deployment.database)
        if before == tables.HEAD:
            # This release has no migration yet; the next one will.
            newer_schema.mark(self.deployment.database, 'next', tables.HEAD)

    def wait_for_ring(self, uuids: list[str]) -> dict[str, str | None]:
        self.deployment.wait_for_members('host1', 'host2')
        self.deployment.wait_until(
            lambda: (
                set(self.deployment.owners()) == set(uuids)
                and set(self.deployment.owners().values())
                == {'host1', 'host2'}
            ),
            'owner of each node',
        )
        return self.deployment.owners()

    def test_both_releases_share_a_ring_and_nothing_moves(self) -> None:
        found = self.run_old('import ironic_ownership as o; print(o.__file__)')
        self.assertTrue(found.startswith(str(self.old)), found)
        self.run_old(
            'import sys; from ironic_ownership.db import connection, schema; '
            'schema.upgrade(connection.open_database(sys.argv[1]))',
            self.deployment.connection,
        )
        first, second = self.start_old('host1'), self.start_old('host2')
        uuids = self.enrolment.enrol(12, instance_share=0.25)
        owners = self.wait_for_ring(uuids)
        self.upgrade_schema()
        second.terminate()
        second = self.start_old('host2')
        self.assertEqual(owners, self.wait_for_ring(uuids))
        first.terminate()
        first = self.start_new('host1')
        self.assertEqual(owners, self.wait_for_ring(uuids))
        uuids += self.enrolment.enrol(8)
        self.wait_for_ring(uuids)
        free = {r.uuid for r in self.deployment.records.compute_nodes()}
        first.kill()
        with_instance = {
            r.uuid
            for r in self.deployment.records.compute_nodes()
            if r.instance_uuid
        }
        self.deployment.wait_until(
            lambda: self.deployment.owned_by('host2') >= free - with_instance,
            'take-over by the older release',
        )
        self.assertNotIn('Traceback', second.log.read_text())


class TestStatus(unittest.TestCase):
    """``ironic-ownership-status upgrade check``."""

    def run_check(self, text: str, *arguments: str) -> programs.Done:
        file = databases.temporary_directory('conf') / 'ironic-ownership.conf'
        file.write_text(text)
        return programs.run(
            [
                *('ironic-ownership-status', '--config-file', str(file)),
                *('upgrade', 'check', *arguments),
            ],
            hosts.TIMEOUT,
            'ironic_ownership.cmd.status',
        )

    def results(self, text: str) -> tuple[int, dict[str, tuple[int, str]]]:
        done = self.run_check(text, '--json')
        self.assertNotIn('Traceback', done.stdout + done.stderr)
        checks = json.loads(done.stdout)['checks']
        return done.returncode, {
            c['check']: (c['result'], str(c['details'])) for c in checks
        }

    def test_server_needs_the_new_schema_first(self) -> None:
        url = databases.POSTGRESQL.fresh()
        text = _configured(url)
        code, found = self.results(text)
        self.assertEqual(2, code)
        result, details = found['Schema of the records']
        self.assertEqual(2, result)
        self.assertIn('ironic-ownership-dbsync upgrade', details)
        database = connection.open_database(url)
        self.addCleanup(database.close)
        schema.upgrade(database)
        code, found = self.results(text)
        self.assertEqual((0, {0}), (code, {r for r, _ in found.values()}))

    def test_reservation_without_an_allocation_needs_its_own_release(
        self,
    ) -> None:
        url = databases.Sqlite().fresh()
        database = connection.open_database(url)
        self.addCleanup(database.close)
        schema.upgrade(database)
        for number in range(3):
            instance = str(uuid.UUID(int=number + 1))
            reservations.SqlReservations(database).begin(
                Reservation(
                    f'r{number}',
                    instance,
                    'host1',
                    Request(instance, 'host1'),
                    method='allocation' if number else 'instance_uuid',
                )
            )
        code, found = self.results(_configured(url))
        self.assertEqual(2, code)
        result, details = found['Reservations without an allocation']
        self.assertEqual(2, result)
        self.assertTrue(details.endswith('for the others: r0'), details)

    def test_table_names_what_a_service_would_refuse(self) -> None:
        url = databases.Sqlite().fresh()
        done = self.run_check(_configured(url, policies='no_such_policy'))
        self.assertEqual(2, done.returncode, done.stderr)
        self.assertIn('no_such_policy', done.stdout)
        self.assertEqual('', done.stderr)

    def test_unreadable_configuration_is_one_line(self) -> None:
        done = self.run_check('no configuration\n')
        self.assertEqual(255, done.returncode, done.stdout)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)


def _configured(url: str, policies: str = 'all') -> str:
    return (
        f'[DEFAULT]\nhost = host1\n[database]\nconnection = {url}\n'
        f'[ownership]\npolicies = {policies}\n[ironic]\nauth_type = none\n'
        'endpoint_override = http://127.0.0.1:1\n'
    )
