"""The runbooks of those who come from Nova, carried out word for word.

With real nova-computes of one cell. An observer reads Nova's tables, Placement
and Ironic all the time.
"""

from __future__ import annotations

import pathlib
import re
import shlex

from lab import nova, process
from tests.functional.support import cell_laws, novas, runbook

_DRIVERS: dict[str, nova.Driver] = {
    name: kind for kind, name in nova.DRIVERS.items()
}
_NOVA_CONF = '/etc/nova/nova.conf'
_PASS = 'Auditing locally available compute resources'
_LOGS = (
    'nova=INFO,nova.service=DEBUG,nova.compute.resource_tracker=DEBUG,'
    'oslo_service=INFO,keystoneauth=WARN,urllib3=WARN'
)
_PASSES = 2
"""Passes of a nova-compute in which it would take what is not its own."""


class TestNovaRunbooks(novas.NovaTestCase):
    """One test for each page; see below."""

    def setUp(self) -> None:
        super().setUp()
        self.world = runbook.World(())
        self.files: dict[tuple[str, str], nova.Sections] = {}
        self.running: dict[str, tuple[nova.Compute, nova.Driver]] = {}
        self.observer: cell_laws.CellObserver | None = None

    def follow(self, page: pathlib.Path) -> None:
        steps = runbook.read(page)
        # No process starves for so long on a busy machine; the grace is the
        # default.
        own: dict[str, dict[str, object]] = {
            'membership': {'member_ttl': 60, 'restart_grace': 60}
        }
        for step in steps:
            if isinstance(step, runbook.Configuration) and (
                step.path.endswith('/ironic-ownership.conf')
            ):
                for section, options in step.sections.items():
                    own.setdefault(section, {}).update(options)
        self.config = self.config_of_records(**own)
        for step in steps:
            match step:
                case runbook.Configuration():
                    self.configure(step)
                case runbook.World():
                    self.begin(step)
                case runbook.Command():
                    self.carry_out(step)
        self.wait_for_passes()
        self.assertEqual(self.rows, self.cloud.compute_nodes())
        self.assertGreater(self.observer.count, 0)
        self.assertEqual({}, self.observer.violations)
        self.assertEqual(set(self.rows), self.cloud.placement.providers())
        self.delete_server(*self.booted)

    def configure(self, step: runbook.Configuration) -> None:
        names = step.host.split(', ')
        self.files |= dict.fromkeys(
            [(host, step.path) for host in names], step.sections
        )
        if names[0] in ('host1', 'rack1') and step.path == _NOVA_CONF:
            # The operator's commands run there.
            self.write_nova_conf(step.sections)

    def begin(self, world: runbook.World) -> None:
        """Start stock services, and boot the instance of the page."""
        self.rows = {_uuid(node): str(node.before) for node in world.nodes}
        for node in world.nodes:
            self.enrol([_uuid(node)], {_uuid(node): node.shard or ''})
        for group in {node.conductor_group for node in world.nodes} - {None}:
            nodes = [n for n in world.nodes if n.conductor_group == group]
            self.put_into_group([_uuid(node) for node in nodes], group)
        for host in sorted(set(self.rows.values())):
            self.systemctl(host, 'start')
        self.cloud.wait_for_hosts(self.rows)
        (deployed,) = [_uuid(n) for n in world.nodes if n.has_instance]
        self.booted = self.boot(deployed)
        self.observer = cell_laws.CellObserver(self.cloud, exclusive=True)
        self.addCleanup(self.observer.stop)
        self.observer.start()

    def put_into_group(self, uuids: list[str], group: str) -> None:
        self.enrolment.serve_group(group)
        with self.cloud.ironic.sql() as database:
            database.executemany(
                'UPDATE nodes SET conductor_group = ? WHERE uuid = ?',
                [(group, uuid) for uuid in uuids],
            )

    def carry_out(self, command: runbook.Command) -> None:
        words = shlex.split(command.text)
        if words[0] == 'ssh':
            _, host, _, verb, unit = words
            self.assertEqual('nova-compute', unit)
            self.systemctl(host, verb)
            return
        self.assertEqual('ironic-ownership', words[0])
        shown = ''

        def done() -> bool:
            nonlocal shown
            status, shown = self.run_cli(*words[1:])
            # The page says once that it comes before each output.
            shown = re.sub(r'^.*: Deprecated: Option "shard".*\n', '', shown)
            return status == command.status and command.matches(shown)

        if command.writes:
            self.assertTrue(done(), f'{command.text}\n{shown}')
            return
        try:
            process.wait_for(done, command.text)
        except process.LabError:
            self.assertEqual(command.output, shown)
            raise

    def systemctl(self, host: str, verb: str) -> None:
        if verb in ('stop', 'restart'):
            compute, driver = self.running.pop(host)
            # Stock Nova takes several seconds for nothing that counts here.
            compute.kill() if driver == 'stock' else compute.stop()
        if verb == 'stop':
            return
        sections = {
            name: dict(options)
            for name, options in self.files[host, _NOVA_CONF].items()
        }
        driver = _DRIVERS[sections['DEFAULT']['compute_driver']]
        sections['DEFAULT'] |= {
            'default_log_levels': _LOGS,
            # Processes start slowly on a busy machine, and stock Nova would
            # take the free nodes of one that is down.
            'service_down_time': 600,
            'update_resources_interval': 2,
        }
        made = self.compute(host, driver, {**sections, **self.config})
        self.running[host] = made.start(), driver
        if {kind for _, kind in self.running.values()} == {'stock', 'ours'}:
            self.mixed(host)

    def mixed(self, changed: str) -> None:
        """Wait until one of the services would have taken a node."""
        self.wait_for_passes()
        if changed == self.rows[self.booted[1]]:
            # The service does what Nova asks for.
            self.api.reboot(self.booted[0])
            self.api.wait_for_server(self.booted[0], 'ACTIVE')
        self.assertEqual(self.rows, self.cloud.compute_nodes())

    def wait_for_passes(self) -> None:
        """Wait until each service has updated all its nodes again."""
        wanted = {
            compute: len(compute.lines(_PASS))
            + _PASSES * list(self.rows.values()).count(host)
            for host, (compute, _) in self.running.items()
        }
        process.wait_for(
            lambda: all(
                len(compute.lines(_PASS)) >= count
                for compute, count in wanted.items()
            ),
            'passes of all services',
            timeout=180,
        )


def _uuid(node: runbook.Node) -> str:
    number = node.name.removeprefix('node')
    return f'00000000-0000-0000-0000-0000000000{number:0>2}'


def _add(page: pathlib.Path) -> None:
    name = page.stem.replace('-', '_')
    setattr(
        TestNovaRunbooks,
        f'test_{name}_works_as_written',
        lambda self: self.follow(page),
    )


for _page in runbook.nova_pages():
    _add(_page)
