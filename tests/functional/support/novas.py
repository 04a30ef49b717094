"""Real Novas for tests: one a process, with an Ironic of its own."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Mapping, Sequence

import testtools
from testtools import content

from lab import ironic, nova
from lab.enrolment import Enrolment
from tests.functional.support import databases

GOLDEN = {
    '00000000-0000-0000-0000-000000000001': 'host2',
    '00000000-0000-0000-0000-000000000002': 'host2',
    '00000000-0000-0000-0000-000000000003': 'host2',
    '00000000-0000-0000-0000-000000000004': 'host1',
    '00000000-0000-0000-0000-000000000006': 'host1',
    '00000000-0000-0000-0000-000000000007': 'host2',
}
"""The ring of host1 and host2, as Nova computes it."""


@functools.cache
def cloud() -> nova.Nova:
    """Return the Nova of this test process.

    It starts when the first test asks for it and ends with the process.
    """
    directory = databases.temporary_directory('nova')
    # Servers that run as other users have their files below it.
    directory.chmod(0o755)
    server = ironic.Ironic(directory / 'ironic')
    atexit.register(server.stop)
    server.start()
    made = nova.Nova(directory / 'nova', server)
    atexit.register(made.stop)
    made.start()
    return made


class NovaTestCase(testtools.TestCase):
    """Tests of one process share a real Nova, without nodes at first.

    The nova-computes of a test end with it; their services and compute nodes
    are then removed from the cell.
    """

    cloud: nova.Nova
    enrolment: Enrolment

    def setUp(self) -> None:
        super().setUp()
        self.cloud = cloud()
        self.enrolment = Enrolment(self.cloud.ironic)
        self.enrolment.clear()
        self.cloud.clear()
        self.computes: list[nova.Compute] = []
        self.addCleanup(self._end_computes)
        self.addOnException(self._attach_logs)

    def compute(
        self,
        host: str,
        driver: nova.Driver = 'stock',
        config: nova.Sections | None = None,
    ) -> nova.Compute:
        """Return a nova-compute, which is not started."""
        made = self.cloud.compute(host, driver, config)
        self.computes.append(made)
        return made

    def enrol(
        self,
        uuids: Sequence[str],
        shards: Mapping[str, str] | None = None,
    ) -> None:
        """Add free nodes with these UUIDs."""
        made = self.enrolment.enrol(len(uuids))
        with self.cloud.ironic.sql() as database:
            for old, new in zip(made, uuids, strict=True):
                database.execute(
                    'UPDATE nodes SET uuid = ?, name = ?, shard = ? '
                    'WHERE uuid = ?',
                    (new, f'node-{new}', (shards or {}).get(new), old),
                )

    def _end_computes(self) -> None:
        for compute in self.computes:
            compute.kill()

    def _attach_logs(self, error: object) -> None:
        for compute in self.computes:
            text = '\n'.join(compute.lines()[-60:])
            self.addDetail(
                f'{compute.log.parent.name}', content.text_content(text)
            )
