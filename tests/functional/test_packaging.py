"""Files that operators copy from the package: units, user, log rotation."""

from __future__ import annotations

import grp
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import unittest

from tests.functional.support import databases, installations

_ETC = installations.CHECKOUT / 'etc' / 'ironic_ownership'
_EXPOSURE = re.compile(r'Overall exposure level for \S+: ([\d.]+)')


def _run(*argv: object) -> str:
    done = subprocess.run(
        [str(word) for word in argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f'{argv}: {done.returncode}\n{done.stdout}')
    return done.stdout


class TestPackaging(unittest.TestCase):
    """Each file is accepted by the program that reads it."""

    def test_units_expose_little(self) -> None:
        units = sorted(_ETC.glob('*.service'))
        self.assertEqual(2, len(units))
        for unit in units:
            printed = _run(
                *('systemd-analyze', 'security', '--offline=true'),
                *('--no-pager', unit),
            )
            (exposure,) = _EXPOSURE.findall(printed)
            self.assertLess(float(exposure), 3.0, printed)

    def test_units_have_no_unknown_setting(self) -> None:
        for unit in _ETC.glob('*.service'):
            # The programs are not where the units expect them.
            directory = databases.temporary_directory('unit')
            text = re.sub(
                '(?m)^ExecStart=[^ ]+', 'ExecStart=/bin/true', unit.read_text()
            )
            (directory / unit.name).write_text(text)
            printed = _run('systemd-analyze', 'verify', directory / unit.name)
            self.assertNotIn(unit.name, printed)

    def test_user_is_created(self) -> None:
        root = databases.temporary_directory('root')
        (root / 'etc').mkdir()
        file = _ETC / 'sysusers' / 'ironic-ownership.conf'
        _run('systemd-sysusers', f'--root={root}', file)
        users = (root / 'etc' / 'passwd').read_text()
        self.assertIn('ironic-ownership:x:', users)
        self.assertIn(':/var/lib/ironic-ownership:/', users)

    def test_logs_are_rotated_by_the_user_of_the_services(self) -> None:
        # Only root can be another user.
        uid = 65534 if os.getuid() == 0 else os.getuid()
        user = pwd.getpwuid(uid).pw_name
        group = grp.getgrgid(pwd.getpwuid(uid).pw_gid).gr_name
        root = databases.temporary_directory('rotation')
        log = pathlib.Path(root, 'host.log')
        log.write_text('a line\n')
        text = (_ETC / 'logrotate' / 'ironic-ownership').read_text()
        config = pathlib.Path(root, 'rotation.conf')
        text = text.replace('/var/log/ironic-ownership', str(root))
        config.write_text(
            text.replace(
                'su ironic-ownership ironic-ownership', f'su {user} {group}'
            )
        )
        config.chmod(0o600)
        root.chmod(0o700)
        for path in (root, log):
            shutil.chown(path, user, group)
        printed = _run(
            *('logrotate', '--verbose', '--force'),
            *('--state', root / 'state', config),
        )
        self.assertFalse(log.exists())
        self.assertEqual('a line\n', (root / 'host.log.1').read_text())
        # A link in that directory could mislead root.
        self.assertIn(f'switching euid from {os.getuid()} to {uid}', printed)
