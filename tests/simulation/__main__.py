"""Run schedules: ``python -m tests.simulation --minutes 60``."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import logging
import pathlib
import secrets
import sys
import tempfile
import time
from collections.abc import Sequence

import coverage

from tests.simulation import stories, threads
from tests.simulation.checks.law import ViolationError
from tests.simulation.mutants import reproducible
from tests.simulation.plan import Plan
from tests.simulation.result import Result
from tests.simulation.schedule import minimised, violation
from tests.simulation.times import Times


def run(arguments: Sequence[str]) -> int:
    """Run stories and schedules until too many break a law, or time is over.

    :returns: the exit code.
    """
    options = _options(arguments)
    threads.install()
    logging.disable(logging.CRITICAL)
    if options.log:
        logging.disable(logging.NOTSET)
        logging.basicConfig(level=logging.INFO, format='%(message)s')
    times = Times(options.scale)
    # Most garbage is freed without it, the rest after some schedules.
    gc.disable()
    sums = Result(histories=options.histories)
    began = time.process_time()
    first = options.seed
    if first is None:
        first = secrets.randbelow(10**9)
    print(f'seeds from {first}', flush=True)
    seed, broken = first, 0
    for title, plan in stories.every(options.stories, options.story):
        if broken >= options.violations:
            break
        found = violation(plan, times, sums)
        if found is not None:
            broken += 1
            print(f'story: {title}')
            _show(plan, found)
    while broken < options.violations:
        spent = time.process_time() - began
        if spent > 60 * options.minutes or (
            options.schedules and sums.schedules >= options.schedules
        ):
            break
        found = violation(stories.varied(seed), times, sums)
        if found is not None:
            broken += 1
            _tell(seed, found, times, options)
        seed += 1
        if not seed % 50:
            gc.collect()
    _report(sums, time.process_time() - began, broken)
    return int(broken > 0)


def _tell(
    seed: int,
    found: ViolationError,
    times: Times,
    options: argparse.Namespace,
) -> None:
    plan = stories.varied(seed)
    if options.minimise:
        plan = minimised(plan, times, found.law)
        found = violation(plan, times, Result()) or found
    _show(plan, found)
    print(
        f'again: python -m tests.simulation --seed {seed} --schedules 1 '
        f'--scale {options.scale:g}',
        flush=True,
    )


def _show(plan: Plan, found: ViolationError) -> None:
    print(f'seed {plan.seed}: {found}')
    print(f'  {plan}')
    for line in found.story:
        print('  ' + line)


def _report(sums: Result, seconds: float, broken: int) -> None:
    days = sums.service_seconds / 86400
    print(
        f'{sums.schedules} schedules, {broken} violations, {seconds:.1f} s '
        f'of a processor, {days:.2f} service-days ({days / seconds * 60:.1f} '
        f'a minute), {sums.steps} steps, {sums.commits} commits, '
        f'{sums.events} events, {sums.acts} acts, converged after '
        f'{sums.slowest:.0f} s at most; digest {sums.digest}'
    )
    print('faults:', dict(sums.faults.most_common()))
    print('requests at Ironic:', dict(sums.answers.most_common()))
    print('pairs of fault and step:', len(sums.pairs))
    for fault in ('kill', 'restart', 'freeze', 'kill-command'):
        missing = [
            f'{step} ({count})'
            for step, count in sums.calls.most_common()
            if (fault, step) not in sums.pairs
        ]
        print(f'no {fault} at: {", ".join(missing) or "none"}')
    covered = coverage.Coverage.current()
    if covered is not None:
        covered.stop()
        _report_branches(covered)


_MEASURED = {
    'decision': 'engine/decision/*',
    'membership': 'engine/membership/*',
    'host': 'engine/host/*',
    'transactions': 'db/*transaction.py',
    'change set': 'db/change_set.py',
    'registration': 'db/registration.py',
    'services': 'db/service_admin.py',
    'heartbeats': 'db/heartbeats.py',
    'pauses': 'db/pauses.py',
}
"""Parts of the product whose branches are counted, and their files."""


def _report_branches(covered: coverage.Coverage) -> None:
    for name, files in _MEASURED.items():
        with (
            tempfile.NamedTemporaryFile() as file,
            contextlib.redirect_stdout(None),
        ):
            covered.json_report(
                include=f'*/ironic_ownership/{files}', outfile=file.name
            )
            sums = json.load(file)['totals']
        print(
            f'branches of {name}: {sums["covered_branches"]} of '
            f'{sums["num_branches"]}'
        )


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='python -m tests.simulation')
    parser.add_argument('--minutes', type=float, default=1.0)
    parser.add_argument('--seed', type=int)
    parser.add_argument('--schedules', type=int, default=0)
    parser.add_argument('--violations', type=int, default=1)
    parser.add_argument('--stories', type=int, default=0)
    parser.add_argument('--story', default='*')
    parser.add_argument('--histories', type=pathlib.Path)
    parser.add_argument('--scale', type=float, default=1.0)
    parser.add_argument('--minimise', action='store_true')
    parser.add_argument('--coverage', action='store_true')
    parser.add_argument('--log', action='store_true')
    return parser.parse_args(arguments)


_COVERAGE = (
    *('-m', 'coverage', 'run', '--rcfile=', '--data-file=', '--branch'),
    *('--concurrency=greenlet', '--source=ironic_ownership'),
)

if __name__ == '__main__':
    measured = _COVERAGE if '--coverage' in sys.argv else ()
    reproducible('tests.simulation', *measured)
    sys.exit(run(sys.argv[1:]))
