"""Two services, one of them stopped, and nodes of a real Ironic to move."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.contracts.moves import Move
from ironic_ownership.db.moves import SqlMoves
from tests.functional.support import command_line, ironics, programs

DRIVER = 'tests.functional.support.move_driver'


class MoveTestCase(ironics.IronicTestCase):
    """``old`` is disabled, dead and owns four nodes; ``new`` is alive."""

    def setUp(self) -> None:
        super().setUp()
        self.proxy = ironics.RecordingProxy(self.endpoint)
        self.addCleanup(self.proxy.stop)
        self.lab = command_line.Deployment(self.proxy.url)
        self.addCleanup(self.lab.close)
        self.bare_metal = ironics.open_ironic(self.server.endpoint)
        self.old = self.lab.serve('old', command_line.ALL, alive=False)
        self.new = self.lab.serve('new', command_line.ALL)
        self.nodes = self.enrol(4, instance_share=0.5)
        self.stop('old')

    def enrol(self, count: int, owner: str = 'old', **where: Any) -> list[str]:
        uuids = self.enrolment.enrol(count, **where)
        nodes = [self.bare_metal.get(uuid) for uuid in uuids]
        epoch = {'old': self.old, 'new': self.new}[owner]
        self.lab.claim(owner, epoch, *filter(None, nodes))
        return uuids

    def stop(self, host: str) -> None:
        self.lab.records.set_service(host, actor='test', disabled=True)

    @property
    def moves(self) -> SqlMoves:
        return SqlMoves(self.lab._database)

    def records(self) -> dict[str, model.ComputeNode]:
        return {n.uuid: n for n in self.lab.records.compute_nodes()}

    def owners(self) -> dict[str, str | None]:
        return {uuid: n.host for uuid, n in self.records().items()}

    def owned_by(self, host: str) -> list[str]:
        return sorted(u for u, owner in self.owners().items() if owner == host)

    def move(
        self,
        *words: str,
        code: int = 0,
        to: str = 'new',
        config: pathlib.Path | None = None,
    ) -> list[dict[str, Any]]:
        """Move nodes without being asked; return the rows."""
        done = self.lab.run(
            *('compute', 'node', 'move', *words),
            *('--service', to, '--yes', '-f', 'json'),
            config=config,
        )
        self.assertEqual(code, done.returncode, done.stderr)
        self.stderr = done.stderr
        rows = json.loads(done.stdout) if done.stdout else []
        return list(rows)

    def assert_whole(self) -> None:
        """Prove that instance and compute node are with one service."""
        self.assertEqual([], list(self.moves.separated()))

    def drive(
        self,
        number: int,
        signal: str,
        text: str = '',
        *,
        lab: command_line.Deployment | None = None,
    ) -> subprocess.Popen[str]:
        """Begin to move all nodes of ``old``, with a signal on the way."""
        child = subprocess.Popen(
            [
                *(sys.executable, '-m', DRIVER),
                *_driven(lab or self.lab, number, signal, text),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(_end, child)
        return child

    def drive_to_its_end(
        self,
        number: int,
        signal: str,
        text: str,
        lab: command_line.Deployment,
    ) -> command_line.Done:
        return programs.run(
            [DRIVER, *_driven(lab, number, signal, text)],
            command_line.TIMEOUT,
            DRIVER,
        )

    def wait_until_stopped(self, child: subprocess.Popen[str]) -> None:
        status = pathlib.Path(f'/proc/{child.pid}/status')
        deadline = time.monotonic() + 180
        while 'State:\tT' not in status.read_text():
            if child.poll() is not None:
                _, stderr = child.communicate()
                self.fail(f'it has ended with {child.returncode}: {stderr}')
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def the_move(self) -> Move:
        (move,) = self.moves.moves()
        return move


def _driven(
    lab: command_line.Deployment,
    number: int,
    signal: str,
    text: str,
) -> Sequence[str]:
    return (
        *(str(number), signal, text),
        *('--config-file', str(lab.config)),
        *('compute', 'node', 'move', '--all', '--from', 'old'),
        *('--service', 'new', '--yes', '-f', 'json'),
    )


def _end(child: subprocess.Popen[str]) -> None:
    if child.poll() is None:
        child.kill()
    child.communicate()
