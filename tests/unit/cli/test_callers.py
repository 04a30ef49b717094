"""Commands through three callers: the same output, exit code and status.

In this process, over HTTP, and as OpenStackClient runs them. Those that
change something are in ``test_changes``.
"""

from __future__ import annotations

import json
from typing import Any
from unittest import mock

from tests.unit.cli import command_case
from tests.unit.engine import world

NODE = world.uuid(1)
NEWER = {
    *('conditions', 'last_refresh', 'loops', 'member_values'),
    *('standing_order', 'notes'),
}
UNKNOWN = world.uuid(99)
LONG = 'x' * 300
PAUSE = 'pause --for 1h --reason x'
ORDER = 'service set old --take-over-deployed'
RESERVE = 'reservation create --dry-run'
EMPTY = 'cannot be empty'

ROWS = (
    # words, exit code, part of what a table or standard error says
    ('compute node list', 0, f'| {NODE} | node1 '),
    ('compute node list --long --service OLD', 0, ''),
    (
        'compute node list --shard a --state owned --state unowned orphan',
        0,
        'node5',
    ),
    ('compute node list --state orphan', 0, 'No compute nodes\n'),
    ('compute node list --recorded', 0, 'node6'),
    ('compute node list --recorded --long', 2, '--long'),
    ('compute node list --recorded --state owned', 2, '--state'),
    ('compute node list --service Odl', 1, "'Odl' is not known. Did you mean"),
    ('compute node list --recorded --service Odl', 1, "'Odl' is not known."),
    ('compute node list --shard A', 1, 'Did you mean a?'),
    ('compute node list --shard ""', 2, 'shard'),
    ('compute node list --conductor-group x', 1, "'x' is not known"),
    ('compute node list -c uiud', 2, 'Did you mean uuid?'),
    (
        "compute node list --sort-column 'Decided Owner'",
        2,
        "column 'Decided Owner' is shown only with --long. Add --long",
    ),
    (f'compute node show {NODE.upper()} --events 0', 0, 'node1'),
    ('compute node show node1 --events 1', 0, ''),
    ('compute node show NODE1', 1, 'Did you mean node1'),
    ('compute node explain node2', 0, ''),
    (f'compute node explain {UNKNOWN}', 1, UNKNOWN),
    (f'compute node explain {NODE} --graph -f json', 2, ''),
    (f'compute node explain {NODE} --graph -c uuid', 2, ''),
    (f'compute node check-action {NODE}', 3, 'old'),
    ('compute node check-delete node1', 3, 'node_is_gone'),
    (f'compute node check-delete {UNKNOWN}', 1, ''),
    ("compute node move node1 --to new --dry-run --reason ' '", 0, 'node1'),
    (
        f'compute node move node1 --to new --dry-run --reason {LONG}',
        2,
        'a reason has 1 to 255 characters',
    ),
    ('compute node move no-such-node --service new --yes', 2, ''),
    ('compute node move --service new --yes', 2, 'no nodes'),
    ('compute node move node1 --to new --override x -y', 2, '--reason'),
    ("compute node move --all --from '' --to new --dry-run", 2, EMPTY),
    ("compute node move --shard '' --to new --dry-run", 2, EMPTY),
    ('instance forget node1 --reason x --dry-run', 1, ''),
    ('service list --long', 0, ''),
    ('service show NEW', 0, 'new'),
    ('service show odl', 1, 'Did you mean old?'),
    ('service show ..', 1, "'..'"),
    ('service set new --disable-reason x --dry-run', 2, 'goes with --disable'),
    ('service set nwe --down --dry-run', 1, 'Did you mean new?'),
    ('service set new', 2, 'nothing to set'),
    (f'{ORDER}-after 60 --yes', 2, '-after needs --reason'),
    (f'{ORDER}-to new', 2, f'-to goes with {ORDER[16:]}-after'),
    ('service set old --enable --whole-scope', 2, '--whole-scope goes with'),
    ('service set old --down --no-take-over-deployed', 2, 'Use two commands'),
    (f'{ORDER}-after 60 --reason x --up', 2, 'Use two commands'),
    ('service delete nwe --yes', 1, 'Did you mean new?'),
    ("service delete old --reason ' ' --dry-run", 2, 'a reason has 1 to 255'),
    ('service drain odl --dry-run', 1, 'Did you mean old?'),
    ('service drain old --trial 0 --yes', 2, '0 is not in 1 to'),
    ('service drain old --trial=-1 --yes', 2, '-1 is not in 1 to'),
    ('service drain old --trial 1000000001 --yes', 2, 'is not in 1 to'),
    (f'service drain old --trial {"9" * 5000} --yes', 2, 'invalid int'),
    ('service drain old --trial x --yes', 2, "int value: 'x'"),
    ('member list --long', 0, 'one'),
    ('ring show --long', 0, ''),
    ('ring preview', 2, ''),
    ('ring preview --without new', 0, ''),
    ('ring preview --with x --like new --nodes', 0, ''),
    ('ring preview --with new', 1, 'new is a member already'),
    ('ring preview --without Nwe', 1, "member 'Nwe' is not known. Did you m"),
    ('ring preview --with x --like Odl', 1, "member 'Odl' is not known"),
    ('ring preview --like new', 2, ''),
    ('policy compare all peer_list --nodes', 0, ''),
    ('policy compare all al', 1, 'al'),
    ('policy compare all shard_key', 1, 'shard_key=VALUE'),
    ('shard plan', 1, ''),
    ('shard plan --max-moves -1', 2, ''),
    ('shard plan --together colour', 1, 'colour'),
    ('pause list', 0, 'No pause: owners change automatically.\n'),
    ('pause --for 2d --reason cables --yes', 2, 'longer than a day'),
    (
        'pause --for 367d --reason cables --yes --force',
        2,
        'the pause is longer than 366 days',
    ),
    (f'{PAUSE} --yes --shard ""', 2, 'the name of a shard cannot be empty'),
    (f'{PAUSE} --yes --shard a --conductor-group x', 1, "group 'x' is not"),
    (f'{PAUSE} --dry-run --shard A', 1, "shard 'A' is not known. Did you mea"),
    ('resume --pause first --yes', 1, 'first'),
    ('resume --yes', 0, 'No pause: owners change automatically.\n'),
    ('move list --unfinished --limit 1', 0, 'No moves\n'),
    ('move show first --nodes', 1, 'first'),
    (f'move show req-{UNKNOWN}', 1, ''),
    (f'move resume req-{UNKNOWN} --yes', 1, ''),
    ('event list --long --node node1 --limit 2', 0, 'owner_changed'),
    ('event list --service OLD --since 1d --kind owner_changed', 0, ''),
    ('event list --since 2099-01-01', 0, 'No events\n'),
    ('event list --since 2025-02-01 --until 2025-01-31', 1, ''),
    ('event list --node no-such-node', 1, ''),
    ('event list --service odl --since 1d', 1, 'Did you mean old?'),
    ('reservation list --all --limit 1 --service OLD', 0, 'No reservations\n'),
    ('reservation list --service odl', 1, 'Did you mean old?'),
    (f'reservation show {UNKNOWN}', 1, UNKNOWN),
    (f'reservation delete {UNKNOWN} --yes', 1, UNKNOWN),
    (f'reservation confirm {UNKNOWN}', 1, UNKNOWN),
    (RESERVE, 2, 'lacks --instance and --service. Add'),
    (f'{RESERVE} --instance x --service new', 2, "'x' does not match"),
    ('overview --check', 4, ''),
    ('check', 4, 'owner_dead'),
    ('check --long', 4, 'owner_dead'),
    # Arguments are texts, but the name of a file may be anything.
    (f'{PAUSE} --yes --shard r\udcff', 2, r"r\udcff' is not a text in UTF-8"),
    ('reservation show r\udcff', 2, r"r\udcff' is not a text in UTF-8"),
    ('event list --node r\udcff', 2, r"r\udcff' is not a text in UTF-8"),
    ('shard plan --weight r\udcff=1', 2, 'is not a text in UTF-8'),
    ('node validate /no/r\udcff', 2, 'cannot be read'),
)


class CallersTest(command_case.RowCase):
    def test_output_and_exit_code_are_the_same(self) -> None:
        for row, code, said in ROWS:
            kind, words = self.find(row)
            for more in ([], ['-f', 'json']):
                first = None
                for name, one in self.callers(kind):
                    with self.subTest(row, more=more, caller=name):
                        found = self.outcome(one, [*words, *more])
                        first = first or found
                        self.assert_same(name, first, found)
                        self.assertEqual('', self.asked)
                with self.subTest(row, more=more):
                    self.assertEqual(code, first.code, first)
                    if more and first.out:
                        json.loads(first.out)
                    if not more:
                        self.assertIn(said, first.out + first.said)
                        # A fault of an option is not one of the body.
                        self.assertIs('body' in said, 'body' in first.said)
        self.assertEqual({'old'}, {*self.owners().values()})
        self.assertEqual([], self.wired.moves.moves())


class EarlierServiceTest(command_case.RowCase):
    """The HTTP service is of release 1.0.0, and sends nothing newer."""

    remote = True

    def test_what_it_does_not_send_is_empty(self) -> None:
        send = command_case._Client.send

        def sent(*arguments: Any) -> Any:
            found = send(*arguments)
            newer = (NEWER | {'services'}) if 'host' in found else NEWER
            return {k: v for k, v in found.items() if k not in newer}

        self.enterContext(
            mock.patch.object(command_case._Client, 'send', sent)
        )
        for row, said in (
            ('service show new', 'new'),
            ('service set new --disable --dry-run', 'disabled'),
            ('compute node show node1', 'node1'),
            ('compute node list', 'node1'),
        ):
            kind, words = self.find(row)
            with self.subTest(row):
                found = self.outcome(kind, words)
                self.assertEqual(0, found.code, found)
                self.assertIn(said, found.out)
