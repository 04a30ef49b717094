"""A Galera cluster behind a proxy: the writer fails, or the proxy itself.

Records and members are in the same database, as they are by default. One
deployment lives through all faults, one after the other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from lab import galera, process
from tests.functional.faults.support import incident
from tests.functional.faults.support.incident import BOTH
from tests.functional.support import databases


def writer(lost: galera.Node | None = None) -> galera.Node:
    """Return the node that gets all connections, as soon as one does.

    :param lost: a node that may not be it any more.
    """
    found: list[galera.Node] = []

    def answers() -> bool:
        # It gives up after two seconds, on a busy machine too.
        with contextlib.suppress(process.LabError):
            found.append(databases.HAPROXY.server.writer())
            return found[-1] is not lost
        return False

    process.wait_for(answers, 'another writer' if lost else 'writer')
    return found[-1]


@contextlib.contextmanager
def failing(
    fault: Callable[[galera.Node], contextlib.AbstractContextManager[None]],
) -> Iterator[None]:
    """Let a fault happen to the writer, and wait for the next one."""
    one = writer()
    with fault(one):
        writer(lost=one)
        yield


class TestHostsBehindHAProxy(incident.IncidentTestCase):
    """Nothing moves: there is another writer before a membership ends."""

    kind = databases.HAPROXY
    with_records = True
    faults_survived = 5

    def test_faults_of_writer_and_proxy_move_nothing(self) -> None:
        self.deployment.live_for(incident.LONG)
        self.share(*BOTH)
        cluster, proxy = databases.GALERA.server, databases.HAPROXY.server
        with self.nothing_moves():
            for fault in (cluster.killed, cluster.frozen, cluster.isolated):
                with failing(fault):
                    self.assert_all_is_well()
            proxy.kill()
            proxy.start()
            self.assert_all_is_well()
            proxy.freeze()
            try:
                # A proxy that accepts connections and is silent: no call of a
                # service waits forever, and none acts without its right.
                self.wait_for_fences()
            finally:
                proxy.thaw()
            self.assert_all_is_well()
