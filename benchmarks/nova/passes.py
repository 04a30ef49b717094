"""Passes of the resource tracker: steady ones, and those of a restart."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.nova.cloud import Cloud, Compute, Costs
from benchmarks.nova.results import Results
from lab import nova


def measure(
    cloud: Cloud, driver: nova.Driver, steady: int, results: Results
) -> Compute:
    """Measure one nova-compute that has all nodes.

    :returns: it, running.
    """
    report = cloud.progress.report
    compute = cloud.compute('host1', driver)
    compute.begin()
    first = _pass(compute)
    report(f'{driver}: pass of the first start: {first.at:.2f} s')
    compute.wait()
    memory_of_start = compute.memory
    begins, passes = [], []
    for _ in range(steady):
        begin = compute.event('begin')
        passes.append(compute.event('end') - begin)
        begins.append(begin)
        report(f'{driver}: steady pass: {passes[-1]}')
    results.note(driver, 'memory', compute.memory)
    report(
        f'{driver}: peak of memory: {compute.memory:.1f} MB, '
        f'{memory_of_start:.1f} MB after its start'
    )
    _note_passes(driver, passes, results)
    if len(begins) > 1:
        cycle = begins[-1] - begins[0]
        results.note(driver, 'cycle', cycle.processor / cycle.at * 60)
    _restart(cloud, compute, driver, results)
    return compute


def _pass(compute: Compute) -> Costs:
    begin = compute.event('begin')
    return compute.event('end') - begin


def _note_passes(
    driver: nova.Driver, passes: Sequence[Costs], results: Results
) -> None:
    for name, values in (
        ('steady', [one.at for one in passes]),
        ('processor', [one.processor for one in passes]),
        ('statements', [one.statements for one in passes]),
        ('requests', [one.requests for one in passes]),
    ):
        results.note(driver, name, statistics.median(values))


def _restart(
    cloud: Cloud, compute: Compute, driver: nova.Driver, results: Results
) -> None:
    # With its next start: the passes of the last one are known.
    compute.nova.stop()
    compute.begin()
    began = cloud.clock()
    begin = compute.event('begin')
    end = compute.event('end')
    compute.wait()
    results.note(driver, 'restart', (end - begin).at)
    results.note(driver, 'start', cloud.clock() - began)
    cloud.progress.report(
        f'{driver}: restart: pass {(end - begin).at:.2f} s, until it serves '
        f'{cloud.clock() - began:.2f} s'
    )
