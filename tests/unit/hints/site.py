"""A deployment in one process, in which hints are carried out.

Real engine, records, operations and commands; Ironic, the members and the
clock belong to the test.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from unittest import mock

from ironic_ownership.api.operation_client import LocalClient
from ironic_ownership.cli import app
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.engine.checks import runner
from ironic_ownership.engine.deletion.missing_nodes import Limits
from tests.contract.suites import placement
from tests.unit.engine import service, world
from tests.unit.output import captured
from tests.unit.web import app_case

PROGRAM = 'ironic-ownership'
_END = re.compile(r'[",;()]|\.(?: |$)| and(?: |$)|: |$')
_WRITES = frozenset(
    (
        *('create', 'set', 'move', 'delete', 'forget', 'drain', 'release'),
        *('resume', 'import'),
    )
)


def commands_of(hint: str) -> list[str]:
    """Return the commands of our program in a hint, in their order."""
    return [
        _END.split(text, maxsplit=1)[0].strip()
        for text in hint.split(f'{PROGRAM} ')[1:]
    ]


class Site(service.ServiceCase):
    """Services, nodes and an operator.

    :ivar alive: the running services, by host.
    """

    hint = ''
    """The hint that is to be carried out."""

    def setUp(self) -> None:
        super().setUp()
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.alive: dict[str, service.Service] = {}
        self.settings: dict[str, model.MemberSettings] = {}
        observer = service.memory.MemoryBackend(
            {}, member_ttl=service.TTL, call_timeout=5, store=self.shared.store
        )
        self.wired = app_case.Wired(self.database, self.ironic, observer)
        self.wired.close = lambda: None
        self.wired.limits = Limits(0.0, 0.25, 3)
        self.providers = placement.FakePlacement([])

    # What happens in the deployment.

    def node(self, number: int, **values: Any) -> str:
        """Add a node to Ironic, or change it; return its uuid."""
        before = self.ironic.nodes.get(world.uuid(number))
        node = before or world.node(number, driver='fake', name=f'n{number}')
        self.ironic.put(dataclasses.replace(node, **values))
        return node.uuid

    def serve(
        self, host: str, settings: model.MemberSettings = world.ALL
    ) -> service.Service:
        """Start the process of a service, and let it work."""
        self.settings[host] = settings
        self.alive[host] = self.start(host, settings)
        self.settle()
        return self.alive[host]

    def lose(self, number: int) -> None:
        """Delete a node from Ironic."""
        del self.ironic.nodes[world.uuid(number)]

    def conductors(self, *alive: bool) -> None:
        """Let Ironic have conductors, the first one of the nodes' driver."""
        self.ironic.workers = [
            model.Conductor(f'c{number}', '', frozenset({driver}), is_alive)
            for number, (driver, is_alive) in enumerate(
                zip(('fake', 'other'), alive, strict=False), 1
            )
        ]

    def patch(self, *target: Any, **values: Any) -> None:
        """Replace a method, until ``unpatch``."""
        patch = mock.patch.object(*target, **values)
        patch.start()
        self.unpatch = patch.stop
        self.addCleanup(patch.stop)

    def stop(self, host: str, grace: float = 0.0) -> None:
        """Stop a service cleanly."""
        self.alive.pop(host).member.leave(grace)

    def kill(self, host: str) -> None:
        """Let a service die, and the others notice it."""
        del self.alive[host]
        self.settle()

    def restart(
        self, host: str, settings: model.MemberSettings | None = None
    ) -> None:
        """Start a service again, with the same settings or with others."""
        if host in self.alive:
            self.stop(host)
        self.serve(host, settings or self.settings[host])

    def settle(self) -> None:
        """Let all services work for longer than a time to live."""
        for turn in range(6):
            self.shared.clock.elapse(service.TTL / 5)
            for one in list(self.alive.values()):
                one.beat()
                if turn % 2:
                    with contextlib.suppress(exceptions.OwnershipError):
                        one.refresh()

    def instance(self, number: int) -> str:
        """Return the uuid of the instance of a node."""
        return world.uuid(900 + number)

    # What an operator sees and does.

    def run_command(self, words: str) -> tuple[int, str, str]:
        """Run a command of our program: exit code and output."""
        program = app.App()
        new_id = new_request_id()
        self.wired.request_id = new_id
        program.wiring = self.wired
        program.api = LocalClient(self.wired, 'operator', new_id)
        with captured() as (out, err):
            program.stdout, program.stderr = out, err
            logging.disable(logging.NOTSET)
            try:
                code = program.run(shlex.split(words))
            finally:
                logging.disable(logging.CRITICAL)
        return code, out.getvalue(), err.getvalue()

    def rows(self, words: str) -> Any:
        """Run a command that lists, and return what it shows."""
        code, out, err = self.run_command(f'{words} -f json')
        self.assertIn(code, (0, 3, 4), err)
        return json.loads(out)

    def findings(self) -> dict[str, dict[str, Any]]:
        """Return what ``check`` finds, by code."""
        found = {row['code']: row for row in self.rows('check --long')}
        self.assertLessEqual(set(found), runner.CODES)
        return found

    def carry_out(self, hint: str = '', first: int = 0, **values: str) -> None:
        """Run the commands of a hint, as an operator does.

        :param hint: by default the one of the test.
        :param first: the number of commands to leave out.
        :param values: texts for the placeholders in capital letters.
        """
        commands = commands_of(hint or self.hint)[first:]
        self.assertTrue(commands, f'no command in {hint or self.hint!r}')
        for command in commands:
            words = command
            for name, value in values.items():
                words = re.sub(rf'\b{name}\b', value, words)
            if _WRITES.intersection(words.split()) and ' list ' not in words:
                words += ' --yes'
            code, out, err = self.run_command(words)
            # 4: it is done, and something remains to be seen to.
            self.assertIn(code, (0, 4), f'{words}: {out} {err}')

    def hand_over(self, host: str, **values: str) -> None:
        """Stop a service, run all commands but the last, start it, run it."""
        commands = commands_of(self.hint)
        self.stop(host)
        for command in commands:
            if command == commands[-1]:
                self.serve(host, self.settings[host])
            self.carry_out(f'{PROGRAM} {command}', **values)
        self.settle()

    def says(self, *words: str) -> None:
        """See that the hint has these words."""
        for one in words:
            self.assertIn(one, self.hint)

    def owned_by(self, host: str | None) -> None:
        """See that node 1 has this owner, or no record."""
        self.settle()
        self.assertEqual({1: host} if host else {}, self.owners())

    def take(self, steps: Sequence[Step]) -> None:
        """Take the steps of a table."""
        for step in steps:
            step(self)

    def fill_placement(self, *numbers: int) -> None:
        """Let Placement have providers of nodes."""
        self.providers = placement.FakePlacement(map(world.uuid, numbers))
        self.wired.placement = self.providers


def play_each(
    case: type[Site], keys: Iterable[str | tuple[str, ...]], name: str
) -> None:
    """Add a test for each key of a table, which its parts name."""
    for key in keys:
        parts = (key,) if isinstance(key, str) else key
        test = f'test_{name.format(*parts)}'
        setattr(case, test, lambda self, parts=parts: self.play(*parts))


Step = Callable[[Any], object]


def _step(name: str) -> Callable[..., Step]:
    """Return the method of a site as steps of a table."""

    def of(*args: Any, **values: Any) -> Step:
        return lambda s: getattr(s, name)(*args, **values)

    return of


node, lose, conductors = map(_step, ('node', 'lose', 'conductors'))
serve, stop, kill = map(_step, ('serve', 'stop', 'kill'))
restart, settle, operator = map(_step, ('restart', 'settle', 'operator'))
run, carry_out, hand_over = map(
    _step, ('run_command', 'carry_out', 'hand_over')
)
says, owned_by, patch, unpatch = map(
    _step, ('says', 'owned_by', 'patch', 'unpatch')
)
