"""The runbooks: the pages of the documentation, carried out word for word.

Each runs against a real Ironic and a real Placement, with real host
processes, as it is written.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable

from ironic_ownership.contracts import model
from ironic_ownership.db.moves import SqlMoves
from tests.functional.support import machines, placements, runbook
from tests.functional.support.hosts import HostsTestCase


class TestRunbooks(placements.PlacementTestCase, HostsTestCase):
    """Brings the world of a page about, and proves what is left of it.

    One test for each page; see below.
    """

    def setUp(self) -> None:
        super().setUp()
        self.placement = self.placement_server
        # As beside a nova-compute: what is there is not ours to change.
        self.deployment.more = {
            'placement': {
                **self.placement.options(),
                'report_inventory': 'false',
                'disable_stopped': 'false',
            }
        }
        # The default, as in the world of the page.
        self.deployment.more['membership'] = {'restart_grace': 60}
        self.machines = machines.Machines(self.deployment, self.server)
        self.world = runbook.World(())
        self.uuids: dict[str, str] = {}
        self.instances: dict[str, str | None] = {}
        self.providers: dict[str, str] = {}

    def begin(self, world: runbook.World) -> None:
        """Start the services, enrol the nodes, and wait for their owners.

        In this order: a node with an instance stays with its first owner.
        """
        self.world = world
        hosts_ = self.machines.start_all()
        self.deployment.wait_for_members(*hosts_)
        for node in world.nodes:
            if node.before is not None:
                self.enrol(node)
        self.wait_for_owners(lambda node: node.before)
        self.providers = self.see_placement()

    def enrol(self, node: runbook.Node) -> None:
        (uuid,) = self.enrolment.enrol(
            1,
            shard=node.shard,
            instance_share=float(node.has_instance),
            prefix=node.name,
            same_every_time=True,
        )
        self.server.request(
            'PATCH',
            f'/nodes/{uuid}',
            json=[{'op': 'add', 'path': '/name', 'value': node.name}],
        )
        self.uuids[node.name] = uuid
        found = self.server.request('GET', f'/nodes/{uuid}')
        self.instances[node.name] = found['instance_uuid']
        self.placement.provide(uuid)
        self.placement.set_traits(uuid, ['CUSTOM_LAB', 'HW_CPU_X86_VMX'])
        self.placement.set_aggregates(
            uuid, ['00000000-0000-4000-8000-00000000a99a']
        )
        if node.has_instance:
            self.placement.allocate(uuid, found['instance_uuid'])

    def see_placement(self) -> dict[str, str]:
        """Return all that Placement has of each node, as it says it."""
        seen = {}
        for uuid in sorted(self.placement.providers()):
            path = f'/resource_providers/{uuid}'
            seen[uuid] = json.dumps(
                [
                    self.placement.request('GET', f'{path}{part}')
                    for part in (
                        '',
                        '/inventories',
                        '/traits',
                        '/aggregates',
                        '/allocations',
                    )
                ],
                sort_keys=True,
            )
        return seen

    def by_name(self) -> dict[str, model.ComputeNode]:
        records = self.deployment.records.compute_nodes()
        return {str(record.name): record for record in records}

    def wait_for_owners(
        self, wanted: Callable[[runbook.Node], str | None]
    ) -> None:
        expected = {
            node.name: wanted(node)
            for node in self.world.nodes
            if wanted(node) is not None
        }
        self.deployment.wait_until(
            lambda: (
                {name: r.host for name, r in self.by_name().items()}
                == expected
            ),
            f'owners {expected}',
        )

    def assert_whole(self) -> None:
        """Prove what has to hold when a page was carried out.

        The history is checked at the end of every test: see ``laws``.
        """
        self.wait_for_owners(lambda node: node.after)
        records = self.by_name()
        for name, uuid in self.uuids.items():
            self.assertEqual(uuid, records[name].uuid)
            self.assertEqual(self.instances[name], records[name].instance_uuid)
            found = self.server.request('GET', f'/nodes/{uuid}')
            self.assertEqual(self.instances[name], found['instance_uuid'])
        moves = SqlMoves(self.deployment.database)
        self.assertEqual([], list(moves.separated()))
        self.assertEqual([], list(moves.moves(unfinished=True)))
        self.assertEqual(self.providers, self.see_placement())

    def carry_out(self, step: runbook.Step) -> None:
        """Do one step, and compare what it prints with the page."""
        match step:
            case runbook.Configuration():
                self.machines.configure(step)
            case runbook.World():
                self.begin(step)
            case runbook.Command():
                self.run_command(step)

    def run_command(self, command: runbook.Command) -> None:
        """Run a command; one that only looks, until it shows the page's."""
        said = ''

        def done() -> bool:
            nonlocal said
            status, said = self.machines.run(command)
            if command.writes or command.status:
                return self.check(command, status, said)
            return status == command.status and command.matches(said)

        try:
            machines.wait_until(done, f'output of {command.text}')
        except machines.process.LabError:
            self.check(command, command.status, said)
            raise

    def check(self, command: runbook.Command, status: int, said: str) -> bool:
        where = f'line {command.line}: {command.text}\n{said}'
        self.assertEqual(command.status, status, where)
        if not command.matches(said):
            self.fail(f'{where}instead of\n{command.output}')
        return True

    def follow(self, page: pathlib.Path) -> None:
        """Carry a page out as it is written."""
        steps = runbook.read(page)
        for step in steps:
            self.carry_out(step)
        self.assertTrue(self.world.nodes)
        self.assertTrue([s for s in steps if isinstance(s, runbook.Command)])
        self.assert_whole()


def _add(page: pathlib.Path) -> None:
    name = page.stem.replace('-', '_')
    setattr(
        TestRunbooks,
        f'test_{name}_works_as_written',
        lambda self: self.follow(page),
    )


for _page in runbook.pages():
    _add(_page)
