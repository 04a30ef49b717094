"""Fail-over: SIGKILL until the last free row has a new host."""

from __future__ import annotations

import signal

from benchmarks.nova.cloud import Cloud, Compute
from benchmarks.nova.results import Results
from ironic_ownership.policies import peer_list
from lab import nova


def measure(
    cloud: Cloud, driver: nova.Driver, first: Compute | None, results: Results
) -> list[Compute]:
    """Let two share the nodes, kill the second one, and wait.

    :param first: host1, if it runs.
    :returns: both.
    """
    if first is None:
        first = cloud.compute('host1', driver)
        first.begin()
        first.wait()
    second = cloud.compute('host2', driver)
    second.begin()
    second.wait()
    wanted = _shares(cloud)
    cloud.progress.wait_for(
        lambda: cloud.nova.compute_nodes() == wanted,
        'share of each host',
        second.nova.process,
        pause=0.5,
    )
    cloud.progress.report(
        f'{driver}: both have their shares; host2 '
        f'{list(wanted.values()).count("host2")} nodes'
    )
    # The first one has to know them as well.
    first.skip_passes()
    first.event('begin')
    first.event('end')
    begin = cloud.clock()
    second.nova.process.signal(signal.SIGKILL)
    cloud.progress.wait_for(
        lambda: cloud.count_rows('host2') == 0,
        'new host of the last row',
        first.nova.process,
        pause=0.1,
    )
    seconds = cloud.clock() - begin
    results.note(driver, 'failover', seconds)
    cloud.progress.report(f'{driver}: fail-over: {seconds:.1f} s')
    return [first, second]


def _shares(cloud: Cloud) -> dict[str, str]:
    """Return the share of each host, which is the same for both drivers."""
    hosts = peer_list.Ring(('host1', 'host2'))
    return dict(zip(cloud.nodes, hosts.owners(cloud.nodes), strict=True))
