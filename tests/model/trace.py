"""Recorded histories, as behaviours of the model.

A history is a file with one JSON object on each line, in the order in which
the transactions depend on each other: that of the ids of the events, except
with several writers. Each is an event of the product:

``id``
    any number, for messages;
``kind``, ``actor``, ``node``, ``source``, ``target``, ``reason``
    the columns ``kind``, ``actor``, ``node_uuid``, ``from_host``, ``to_host``
    and ``reason`` of the table ``events``; further keys are ignored;
``writer``
    the process that wrote it, under a name that no other process ever has; a
    service with one unnamed process may leave it out.

``benchmarks.nemesis`` writes such a file, ``events.jsonl``, into its
``--directory``. Any other recorder writes the rows of ``events``, with the
incarnation of the process as ``writer``::

    python -m tests.model.trace events.jsonl
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.model import tlc

Event = Mapping[str, Any]

_OWNERS = {
    'node_moved': 'move',
    'node_handed_over': 'hand over',
    'node_forgotten': 'release',
}
_SERVICES = {
    'service_registered': 'register',
    'service_retired': 'retire',
    'service_fenced': 'fence',
    'service_failed_over': 'fail over',
    'service_forced_down': 'force down',
    'service_deleted': 'delete',
}
_WRITES = (
    'instance_opened',
    'instance_closed',
    'availability_changed',
    'service_died',
    'service_changed',
    'nodes_taken_over',
    'pause_began',
    'pause_ended',
)


@dataclasses.dataclass(frozen=True)
class Refusal:
    """The first event that the model does not allow.

    :param number: its place in the history, from 1 on.
    """

    number: int
    event: Event

    def __str__(self) -> str:
        return f'event {self.number} is refused: {json.dumps(self.event)}'


def read(path: pathlib.Path) -> list[Event]:
    """Return the events of a file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def first_refused(events: Sequence[Event]) -> Refusal | None:
    """Return the first event that the model does not allow, if there is one.

    :raises RuntimeError: if TLC fails.
    """
    hosts = {e['actor'] for e in events if e['kind'] == 'service_registered'}
    steps = [_step(event, hosts) for event in events]
    nodes = {step['node'] for step in steps} - {None} or {'none'}
    outcome = tlc.check(
        'Trace',
        (tlc.HERE / 'Trace.cfg')
        .read_text()
        .replace('HOSTS', _set(hosts))
        .replace('NODES', _set(nodes))
        .replace('WATCHED', _value(min(nodes))),
        {'History': _module(steps)},
    )
    if not outcome.is_complete:
        raise RuntimeError(outcome.error)
    # Each event is a state, after the initial one.
    accepted = outcome.depth - 1
    if accepted == len(events):
        return None
    return Refusal(accepted + 1, events[accepted])


def _step(event: Event, hosts: Iterable[str]) -> dict[str, Any]:
    """Return the step of the model: its kind, and what it is about."""
    actor = event['actor']
    by_host = actor in hosts
    step = {
        'kind': _kind(event, by_host),
        'process': (actor, event.get('writer') or actor)
        if by_host
        else (None, 0),
        'node': event['node'],
        'from': event['source'],
        'to': event['target'],
    }
    if step['kind'] == 'write':
        # An instance is the owner's, and so is the evaluation of a node.
        step['node'] = event['node'] if by_host else None
        step['from'] = actor
    return step


def _kind(event: Event, by_host: bool) -> str:
    kind = event['kind']
    if kind == 'owner_changed':
        return 'release' if event['target'] is None else 'claim'
    if kind == 'service_changed' and re.search(
        r'forced_down=False', str(event['reason']).partition(';')[0]
    ):
        return 'force up'
    if kind == 'node_forgotten' and not by_host:
        return 'hand over'
    if kind in _WRITES:
        return 'write'
    return {**_OWNERS, **_SERVICES}[kind]


def _module(steps: Iterable[Mapping[str, Any]]) -> str:
    """Return the history as a module of TLA+."""
    records = ',\n'.join(
        '[{}]'.format(
            ', '.join(f'{name} |-> {_value(v)}' for name, v in step.items())
        )
        for step in steps
    )
    return (
        '---- MODULE History ----\nCONSTANT Nothing\n'
        f'History == <<\n{records}\n>>\n====\n'
    )


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return f'<<{", ".join(map(_value, value))}>>'
    if value is None:
        return 'Nothing'
    return f'{value}' if isinstance(value, int) else f'"{value}"'


def _set(names: Iterable[str]) -> str:
    return f'{{{", ".join(map(_value, sorted(names)))}}}'


def main() -> int:
    """Check the files that are named on the command line."""
    refusals = [first_refused(read(pathlib.Path(a))) for a in sys.argv[1:]]
    for name, refusal in zip(sys.argv[1:], refusals, strict=True):
        print(f'{name}: {refusal or "accepted"}')  # noqa: T201
    return 1 if any(refusals) else 0


if __name__ == '__main__':
    sys.exit(main())
