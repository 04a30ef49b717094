"""Commands through three callers: the same output, exit code and status.

In this process, over HTTP, and as OpenStackClient runs them.
"""

from __future__ import annotations

import io
import json
import logging
import re
import types
from typing import Any

from ironic_ownership import plugins
from ironic_ownership.cli import errors
from ironic_ownership.clients import ownership
from ironic_ownership.contracts import exceptions
from ironic_ownership.osc import commands
from tests.unit.cli import test_move
from tests.unit.engine import world

_REQUEST = re.compile(r'req-[0-9a-z-]+ *')
_READ_AT = re.compile(r'(read[_ ]at\W+)20[0-9T:+-]+', re.IGNORECASE)
"""The time of the answer itself: a second may pass between the callers."""
NODE = world.uuid(1)
UNKNOWN = world.uuid(99)
LONG = 'x' * 300

ROWS = (
    # words, exit code
    ('compute node list', 0),
    ('compute node list --long', 0),
    ('compute node list --service OLD', 0),
    ('compute node list --shard a --state owned --state unowned orphan', 0),
    ('compute node list --state orphan', 0),
    ('compute node list --recorded', 0),
    ('compute node list --recorded --long', 2),
    ('compute node list --recorded --state owned', 2),
    ('compute node list --service odl', 1),
    ('compute node list --recorded --service odl', 1),
    ('compute node list --shard A', 1),
    ('compute node list --conductor-group x', 1),
    (f'compute node show {NODE}', 0),
    (f'compute node show {NODE.upper()} --events 0', 0),
    ('compute node show node1 --events 1', 0),
    ('compute node show no-such-node', 1),
    ('compute node show NODE1', 1),
    (f'compute node explain {NODE}', 0),
    ('compute node explain node2', 0),
    (f'compute node explain {UNKNOWN}', 1),
    (f'compute node check-action {NODE}', 3),
    ('compute node check-delete node1', 3),
    (f'compute node check-delete {UNKNOWN}', 1),
    ('compute node delete node1 --dry-run', 3),
    ('compute node delete node1 --yes', 3),
    ('compute node release node1 --dry-run', 0),
    ('compute node move node1 --to new --dry-run', 0),
    (f'compute node move node1 --to new --dry-run --reason {LONG}', 2),
    ('compute node move node1 --service nwe --dry-run', 3),
    ('compute node move node1 --service nwe --yes', 3),
    ('compute node move node1 node2 --to new --trial 1 --dry-run', 0),
    ('compute node move node1 --to new --trial 9 --dry-run', 0),
    ('compute node move no-such-node --service new --yes', 2),
    ('compute node move --service new --yes', 2),
    ('compute node move --all --from old --service new --dry-run', 0),
    ('compute node move --all --from OLD --service NEW --dry-run', 0),
    ('instance forget node1 --reason x --dry-run', 1),
    ('service list', 0),
    ('service list --long', 0),
    ('service show NEW', 0),
    ('service show odl', 1),
    ('service show a/b', 1),
    ('service show ..', 1),
    ('service set new --disable --dry-run', 0),
    ('service set new --disable-reason x --dry-run', 2),
    ('service set nwe --down --dry-run', 1),
    ('service set new', 2),
    ('service set old --take-over-deployed-after 60 --reason x --yes', 3),
    ('service set old --take-over-deployed-after 60 --yes', 2),
    ('service set old --no-take-over-deployed --whole-scope --yes', 0),
    ('service delete old --dry-run', 3),
    ('service delete nwe --yes', 1),
    ('service drain old --dry-run', 0),
    ('service drain old --trial 2 --dry-run', 0),
    ('service drain odl --dry-run', 1),
    ('service failover new --dry-run', 3),
    ('member list', 0),
    ('member list --long', 0),
    ('ring show', 0),
    ('ring show --long', 0),
    ('ring preview', 2),
    ('ring preview --without new', 0),
    ('ring preview --with x --like new --nodes', 0),
    ('ring preview --with new', 1),
    ('ring preview --without nwe', 1),
    ('ring preview --like new', 2),
    ('policy compare all peer_list', 0),
    ('policy compare all peer_list --nodes', 0),
    ('policy compare all al', 1),
    ('policy compare all shard_key', 1),
    ('shard plan', 1),
    ('shard plan --max-moves -1', 2),
    ('shard plan --together colour', 1),
    ('pause list', 0),
    ('pause --for 2d --reason cables --yes', 2),
    ('pause --for 1h --shard a --conductor-group x --reason z --yes', 1),
    ('pause --for 1h --shard A --reason cables --dry-run', 1),
    ('resume --dry-run', 0),
    ('resume --pause first --yes', 1),
    ('move list', 0),
    ('move list --unfinished --limit 1', 0),
    ('move show first', 1),
    (f'move show req-{UNKNOWN}', 1),
    (f'move resume req-{UNKNOWN} --yes', 1),
    ('move show first --nodes', 1),
    ('move resume first --yes', 1),
    ('event list', 0),
    ('event list --long --node node1 --limit 2', 0),
    ('event list --service OLD --since 1d --kind owner_changed', 0),
    ('event list --since 2025-02-01 --until 2025-01-31', 1),
    ('event list --node no-such-node', 1),
    ('event list --service odl', 1),
    ('event list --service odl --since 1d', 1),
    ('reservation list', 0),
    ('reservation list --all --limit 1 --service OLD', 0),
    ('reservation list --service odl', 1),
    (f'reservation show {UNKNOWN}', 1),
    (f'reservation delete {UNKNOWN} --yes', 1),
    (f'reservation confirm {UNKNOWN}', 1),
    ('overview --check', 4),
    ('check', 4),
    ('check --long', 4),
)


class CallersTest(test_move.CommandCase):
    def kind_of(self, words: list[str]) -> tuple[Any, list[str]]:
        """Return the class of a command, and its arguments."""
        for entry_point in sorted(
            plugins.entry_points(commands.COMMANDS),
            key=lambda one: -len(one.name),
        ):
            name = entry_point.name.split()
            if words[: len(name)] == name:
                return entry_point.load(), words[len(name) :]
        raise AssertionError(words)

    def outcome(self, kind: Any, words: list[str]) -> tuple[int, str, str]:
        """Return exit code, output and error of a command.

        An error of the HTTP service has the status of the local one.
        """
        stdout = io.StringIO()
        app = types.SimpleNamespace(
            api=self.caller(),
            stderr=io.StringIO(),
            stdout=stdout,
            LOG=logging.getLogger('test'),
            deadline=self.limit,
            options=types.SimpleNamespace(ownership_timeout=None, debug=False),
        )
        command = kind(app, None)
        if issubclass(kind, commands.UnderOpenStack):
            command.__dict__['api'] = app.api
        error = ''
        try:
            code = command.run(command.get_parser('test').parse_args(words))
        except exceptions.OwnershipError as exc:
            code, error = errors.exit_code(exc), errors.line(exc)
            if isinstance(exc, ownership.RemoteError):
                self.assertEqual(self.expected, self.status, words)
            self.expected = exc.http_status
        shown = _REQUEST.sub('req', stdout.getvalue())
        shown = _READ_AT.sub(r'\1now', shown)
        return code, shown, _REQUEST.sub('req', error)

    def test_output_and_exit_code_are_the_same(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        for row, code in ROWS:
            kind, words = self.kind_of(row.split())
            osc = type('Osc', (commands.UnderOpenStack, kind), {})
            for more in ([], ['-f', 'json']):
                with self.subTest(row, more=more):
                    given = [*words, *more]
                    self.remote = False
                    local = self.outcome(kind, given)
                    self.assertEqual(code, local[0], local)
                    if more and local[1]:
                        json.loads(local[1])
                    self.remote = True
                    self.assertEqual(local, self.outcome(kind, given))
                    self.assertEqual(local[:2], self.outcome(osc, given)[:2])
