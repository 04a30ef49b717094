"""The HTTP service and the console, beside the demonstration."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Sequence

from lab import process

_API = """
[api]
auth_strategy = noauth
port = {port}
metrics_interval = 10
"""


def start(
    directory: pathlib.Path, config: pathlib.Path
) -> tuple[str, Sequence[process.Process]]:
    """Start both, without Keystone and on the loopback interface.

    :param config: of a service.
    :returns: the address of the page, and the processes.
    :raises LabError: if one of them does not start.
    """
    ports = process.free_port(), process.free_port()
    api = directory / 'api.conf'
    api.write_text(config.read_text() + _API.format(port=ports[0]))
    # Its path is in the directory, by which --stop knows its processes.
    program = directory / 'ironic-ownership-console'
    program.symlink_to(_bin('ironic-ownership-console'))
    started = []
    for port, argv in (
        (ports[0], [_bin('ironic-ownership-api'), '--config-file', str(api)]),
        (
            ports[1],
            [
                *(sys.executable, str(program), '--port', str(ports[1])),
                *('--endpoint', f'http://127.0.0.1:{ports[0]}'),
            ],
        ),
    ):
        log = directory / f'console-{port}.log'
        started.append(process.Process(argv, log).start())
        process.wait_for(
            lambda port=port: process.answers_tcp(port),  # type: ignore[misc]
            f'answer of {argv[0]}',
        )
    return f'http://127.0.0.1:{ports[1]}/', started


def _bin(name: str) -> str:
    return str(pathlib.Path(sys.executable).with_name(name))
