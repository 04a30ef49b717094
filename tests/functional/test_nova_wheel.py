"""The driver as an operator installs it: wheels, pip, and a launcher.

Nova is in a copy of the lab's environment, of links, in which neither the
package nor its driver is.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess

from lab import nova_environment
from tests.functional.support import databases, installations, novas

_NODES = list(novas.GOLDEN)
_OURS = ('ironic-ownership', 'ironic-ownership-nova')


class TestInstalledDriver(novas.NovaTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.root = databases.temporary_directory('nova-wheel')
        self.nova = self.root / 'nova'
        _copy(nova_environment.stock(), self.nova)
        installations.pip(self.nova, 'uninstall', '--yes', *_OURS)

    def test_launcher_then_nova_compute_then_neither(self) -> None:
        wheels = [installations.own_wheel(of) for of in ('.', 'nova_driver')]
        config = self.config_of_records(ownership={'policies': 'peer_list'})
        self.enrol(_NODES)
        # Nova is in another directory of packages: the launcher.
        own = self.root / 'own'
        installations.run(
            'python3', '-m', 'venv', '--without-pip', own, cwd=self.root
        )
        _packages(own).joinpath('nova.pth').write_text(
            f'{_packages(self.nova)}\n'
        )
        installations.pip(own, 'install', '--no-deps', *wheels)
        launched = self.installed(
            own / 'bin' / 'ironic-ownership-nova-compute', config
        )
        launched.start()
        self.cloud.wait_for_hosts(dict.fromkeys(_NODES, 'host1'))
        self.assertEqual(dict.fromkeys(_NODES, 'host1'), self.owners())
        launched.stop()
        # In the environment of Nova: its own program finds the driver.
        program = self.nova / 'bin' / 'nova-compute'
        installations.pip(self.nova, 'install', '--no-deps', *wheels)
        ours = self.installed(program, config)
        ours.start()
        self.assertTrue(ours.lines('host1 is active'))
        ours.stop()
        # Taken out again: nothing of either is left for Nova to find. How it
        # works without them is in the runbooks.
        installations.pip(self.nova, 'uninstall', '--yes', *_OURS)
        self.assertEqual([], [*self.nova.rglob('*ironic*ownership*')])

    def installed(
        self, program: pathlib.Path, config: novas.nova.Sections
    ) -> novas.nova.Compute:
        return self.compute('host1', 'ours', config, executable=program)

    def owners(self) -> dict[str, str | None]:
        return {row.uuid: row.host for row in self.records.compute_nodes()}


def _packages(venv: pathlib.Path) -> pathlib.Path:
    [found] = venv.glob('lib/python*/site-packages')
    return found


def _copy(venv: pathlib.Path, target: pathlib.Path) -> None:
    """Copy an environment by links, with programs that run in the copy."""
    linked = subprocess.run(
        ['cp', '--archive', '--link', venv, target],
        capture_output=True,
        check=False,
    )
    if linked.returncode:  # another file system
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(venv, target, symlinks=True)
    program = target / 'bin' / 'nova-compute'
    text = program.read_text().replace(str(venv), str(target))
    program.unlink()  # and not the file that the lab has
    program.write_text(text)
    program.chmod(0o755)
