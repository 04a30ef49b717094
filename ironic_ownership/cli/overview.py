"""``overview``: whether every node is owned exactly once, on one screen."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_ownership.api import schemas
from ironic_ownership.api.resources.check import COUNTS
from ironic_ownership.cli import base, errors, formatters
from ironic_ownership.contracts import texts

_MORE = 'read_at', 'check_age', 'warnings'
_FULL = 12
"""Characters of the bar of a share that is twice the mean or more."""

_FEW = 20
_INDENT = ' ' * 10
_STATES = {
    'ok': 'All is well: every node has exactly one live owner.',
    'warning': 'Something needs your attention.',
    'unknown': 'Not everything could be read.',
    'error': 'Something is wrong: nodes may not be served.',
}
_Row = Mapping[str, Any]


class Overview(base.ShowOne):
    """Show whether every node is owned exactly once, and what is not well.

    Counts come from the records, the membership and the Nova cell, within a
    second for any number of nodes. Ironic is read with --check; the HTTP
    service reads it in the background.
    """

    operation, more, watches = 'overview:show', _MORE, True
    notes = """\
The counts have to be zero. "Owned twice" compares the records with the rows
of the Nova cell, and with Ironic if it was read. The exit code is 0 if all is
well, else 4. Other formats have all findings, and those that are null could
not be read."""
    examples = ('overview', 'overview --watch', 'overview --check -f json')

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        body = self.read(parsed_args)
        if body['state'] != 'ok':
            self.exit_code = errors.ExitCode.DEGRADED
        if parsed_args.formatter == 'table' and not parsed_args.columns:
            self.text = '\n'.join(_lines(formatters.printable(body)))
        return self.cells(self.described.columns, body, *self.more)


def _lines(body: _Row) -> Iterator[str]:
    yield f'{_state(body)} {texts.counted(body["nodes"], "node")}.'
    yield ''
    for key in schemas.keys(COUNTS):
        number = '?' if body[key] is None else body[key]
        yield f'  {formatters.heading(key):20}{number:>7}'
    age = body['check_age']
    yield (
        '  Ironic was not read: nodes without a record are not counted'
        if age is None
        else f'  Ironic was read {age:.0f} s ago'
    )
    yield from _services(body['services'])
    yield from _findings(body['findings'])
    if body['moves']:
        yield from ('', 'Moves')
    for move in body['moves'][:_FEW]:
        done = move['moved'] + move['unchanged'] + move['refused']
        yield (
            f'  {move["request_id"]} to {move["destination"]}: {done} of '
            f'{done + move["planned"]} nodes done'
        )
    if (more := len(body['moves']) - _FEW) > 0:
        yield f'  and {more} more: ironic-ownership move list --unfinished'


def _state(body: _Row) -> str:
    text = _STATES[body['state']]
    if body['state'] == 'ok' and body['check_age'] is None:
        return text.replace('every node', 'every node on record')
    return text


def _services(services: Sequence[_Row]) -> Iterator[str]:
    width = max((len(one['host']) for one in services), default=0)
    yield from ('', f'Services{"":{max(width - 6, 1)}}nodes  of mean')
    for one in services:
        share = one['of_mean']
        bar = '#' * round(min(share or 0, 2) * _FULL / 2)
        state = [one['alive'], one['status']]
        state += ['forced down'] * one['forced_down']
        if one['conditions'] == 'unknown':
            state.append('conditions unknown')
        elif one['conditions'] not in (None, 'ok'):
            state.append(f'failing: {one["conditions"]}')
        yield (
            f'  {one["host"]:{width}} {one["nodes"]:6}  '
            f'{"   -" if share is None else f"{share:4.2f}"} {bar:{_FULL}} '
            f'{", ".join(state)}'
        )


def _findings(findings: Sequence[_Row]) -> Iterator[str]:
    if findings:
        yield from ('', 'Findings')
    for one in findings[:_FEW]:
        yield f'  {one["severity"]:8}{one["what"]}'
        yield formatters.filled(one['hint'], 78, _INDENT, _INDENT)
    if len(findings) > _FEW:
        yield f'  and {len(findings) - _FEW} more: ironic-ownership check'
