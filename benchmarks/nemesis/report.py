"""Report of a run, as text and as JSON."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

from benchmarks.nemesis import clock
from benchmarks.nemesis.run import Run

_SHOWN = 20


def figures(run: Run) -> dict[str, Any]:
    """Return everything that the report shows; see the documentation."""
    journal, origin = run.journal, run.journal.origin
    gaps = (run.coverage.longest, run.coverage.longest_deployed)
    seconds = clock.now() - origin
    used = run.processors.seconds()
    return {
        'settings': dataclasses.asdict(run.settings),
        'seconds': round(seconds, 1),
        'rounds': run.rounds,
        'faults': dict(sorted(journal.counts.items())),
        'skipped': dict(sorted(journal.skipped.items())),
        'answers': dict(sorted(run.reader.outcomes.items())),
        'permissions_checked': run.permissions.checked,
        'permissions_unknown': run.permissions.unknown,
        'requests_admitted': run.admissions.checked,
        'requests_too_late': run.admissions.ended,
        'requests_unknown': run.admissions.unknown,
        'losses_noticed': run.losses_noticed,
        'events': len(run.history.known),
        'registrations': dict(sorted(run.history.registrations.items())),
        'snapshots': run.observer.snapshots,
        'processors': round(sum(used.values()) / seconds, 2),
        'processor_seconds': used,
        'longest': {
            'free_node_unserved': round(gaps[0].seconds, 2),
            'deployed_node_unserved': round(gaps[1].seconds, 2),
            'permission_after_loss': round(run.permissions.longest_overrun, 2),
            'convergence': round(run.longest_convergence, 2),
            'without_snapshot': round(run.observer.longest_gap, 2),
        },
        'longest_unserved': [
            {
                'node': gap.node,
                'owner': gap.owner,
                'since': round(gap.since - origin, 2),
                'seconds': round(gap.seconds, 2),
            }
            for gap in gaps
            if gap.seconds
        ],
        'troubles': run.storm.troubles,
        'violations': [
            {
                'at': round(one.at - origin, 2),
                'law': one.law,
                'text': one.text,
                'node': one.node,
                'time_line': list(one.context),
            }
            for one in run.findings.all
        ],
        'violations_not_listed': run.findings.dropped,
    }


def text(found: dict[str, Any]) -> str:
    """Return the report for people."""
    settings = found['settings']
    lines = [
        f'nemesis: records in {settings["records"]}, members in '
        f'{settings["members"]}, seed {settings["seed"]}'
        + (f', BROKEN {settings["broken"]}' if settings['broken'] else ''),
        f'{found["rounds"]} rounds in {found["seconds"] / 60:.1f} minutes',
        '',
        *_table('faults', found['faults']),
        *_table('skipped', found['skipped']),
        *_table('answers of guards', found['answers']),
        *_table('registrations', found['registrations']),
        *_table('longest, in seconds', found['longest']),
        *_table('seconds of processors', found['processor_seconds']),
        *(
            f'unserved: node {gap["node"]} of {gap["owner"]} for '
            f'{gap["seconds"]} s since {gap["since"]}'
            for gap in found['longest_unserved']
        ),
        f'permissions checked: {found["permissions_checked"]}',
        f'permissions under lost commits: {found["permissions_unknown"]}',
        f'requests that Ironic admitted: {found["requests_admitted"]}',
        f'of those perhaps too late: {found["requests_unknown"]}',
        f'requests under an ended right: {found["requests_too_late"]}',
        f'lost commits noticed by services: {found["losses_noticed"]}',
        f'events replayed: {found["events"]}',
        f'snapshots: {found["snapshots"]}',
        f'processors: {found["processors"]}',
        f'troubles of the run itself: {len(found["troubles"])}',
        *(f'  {one}' for one in found['troubles'][:_SHOWN]),
        f'violations: {len(found["violations"])}',
    ]
    for one in found['violations'][:_SHOWN]:
        lines += ['', f'{one["at"]:9.2f} {one["law"]}: {one["text"]}']
        lines += [f'    {line}' for line in one['time_line']]
    return '\n'.join(lines)


def save(found: dict[str, Any], path: pathlib.Path) -> None:
    """Write the report for programs, in place of an earlier one."""
    new = path.with_name(f'{path.name}.new')
    new.write_text(json.dumps(found, indent=1))
    new.rename(path)


def _table(title: str, counts: dict[str, Any]) -> list[str]:
    if not counts:
        return []
    width = max(map(len, counts))
    return [
        f'{title}:',
        *(f'  {name:<{width}}  {count}' for name, count in counts.items()),
        '',
    ]
