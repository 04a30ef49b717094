"""Wall time of our shortest commands, against that of ``openstack``.

Scripts start a command line thousands of times; most of its time is imports.
Ours is the installation of this environment, the peer has its own virtual
environment. They run in turn, under the same conditions.
"""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks import table
from lab import venvs

_RUNS = 15
_WARM_UP = 2
_CONFIGURATION = """
[DEFAULT]
host = benchmark
state_path = {directory}
[database]
connection = sqlite:///{directory}/ironic-ownership.db
"""


def _seconds(argv: Sequence[str], directory: pathlib.Path) -> float:
    """Run a command once, away from the checkout, and return its seconds."""
    hidden = ('OS_', 'PYTHON', 'COVERAGE')
    env = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    start = time.perf_counter()
    subprocess.run(
        argv,
        cwd=directory,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - start


def _medians(
    commands: Sequence[Sequence[str]], directory: pathlib.Path
) -> list[float]:
    """Run the commands in turn and return the median seconds of each."""
    rounds = [
        [_seconds(command, directory) for command in commands]
        for _ in range(_WARM_UP + _RUNS)
    ]
    return [
        statistics.median(column)
        for column in zip(*rounds[_WARM_UP:], strict=True)
    ]


def measure() -> list[table.Row]:
    """Measure our two commands against the peer's ``--version``."""
    ours = str(pathlib.Path(sys.executable).parent / 'ironic-ownership')
    venv = venvs.ensure('openstackclient', ['python-openstackclient'])
    openstack = str(venv / 'bin' / 'openstack')
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        configuration = directory / 'ironic-ownership.conf'
        configuration.write_text(_CONFIGURATION.format(directory=directory))
        _seconds(
            [f'{ours}-dbsync', '--config-file', str(configuration), 'upgrade'],
            directory,
        )
        version, listing, peer = _medians(
            [
                [ours, '--version'],
                [ours, '--config-file', str(configuration), 'service', 'list'],
                [openstack, '--version'],
            ],
            directory,
        )
    return [
        table.Row('ironic-ownership --version', version, peer, 's', 0.5),
        table.Row('ironic-ownership service list', listing, peer, 's', 0.65),
    ]


if __name__ == '__main__':
    sys.exit(
        table.show(
            f'startup: wall time against "openstack --version", '
            f'median of {_RUNS} runs',
            measure(),
        )
    )
