"""``nova``: check a Nova cell, adopt its nodes, return its services."""

from __future__ import annotations

import argparse
import logging
import os
import pathlib
from typing import TYPE_CHECKING, Any, ClassVar

from ironic_ownership.api import schemas
from ironic_ownership.api.operation_client import actor
from ironic_ownership.api.schemas import Column
from ironic_ownership.cli import app, arguments, base, change, errors
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.texts import counted

if TYPE_CHECKING:
    from ironic_ownership.wiring import Wiring
    from ironic_ownership_nova.cell.port import SqlCell

LOG = logging.getLogger(__name__)

_FINDINGS: tuple[Column[Any], ...] = (
    Column('code', lambda found: found.code),
    Column('what', lambda found: found.what),
    Column('subjects', lambda found: list(found.subjects)),
    Column('prevents_adoption', lambda found: found.prevents_adoption),
    Column('hint', lambda found: found.hint),
)
_STATE: tuple[Column[Any], ...] = (
    Column('service', lambda one: one.host),
    Column('state', lambda one: one.state.value),
    Column('detail', lambda one: one.detail),
)
_ADOPTED = (Column[Any]('uuid', lambda node: node.uuid), *_STATE)


def _cell(wiring: Wiring) -> SqlCell:
    """Return the cell, with the schema of the records in place.

    :raises ConfigurationError: if none is configured.
    """
    from ironic_ownership_nova.cell.nova_tables import NovaTables

    found = wiring.companion
    if not isinstance(found, NovaTables):
        raise exceptions.ConfigurationError(
            ['[nova] cell_schema: no Nova cell is configured'],
            hint='Add cell_schema to [nova]. Any cell can be checked without: '
            'ironic-ownership nova check --cell URL',
        )
    wiring.ensure_schema()
    return found.port


def _announced(what: str) -> Origin:
    """Log a change under a new request id; return what its events name."""
    new_id = new_request_id()
    change.announce(new_id, what)
    return Origin(actor(), new_id)


class CheckNova(base.Lister):
    """Check a Nova cell for faults that clouds have, changing nothing.

    With --cell nothing else is needed: no configuration file, no schema of
    this project, no permission but to read. The cell is compared with Ironic
    and Placement: rows of two hosts, orphaned and duplicate providers,
    instances that are not where they should be, services that are down or
    share nodes without a ring. Each finding says how Nova behaves and how to
    correct it.

    Without --cell, the cell that [nova] cell_schema names is checked before
    its nodes are adopted: permissions, rows, and the records. [nova]
    config_file is read too, if that nova.conf is on this machine: the
    settings that do the same as its options are shown.
    """

    uses_api = False
    notes = """\
Ironic and Placement are those of --cloud or of the variables OS_*; without
them, of [ironic] and [placement] in --config-file, which can be a nova.conf. A
user that may read is enough, if it sees the nodes of all projects.

The exit code is 0 without findings, and 4 with any or if something could not
be read. A finding that prevents the adoption leaves out the nodes it names;
the others can be adopted. Each missing permission comes with the statement
that gives it.

With --cell there are two more keys: "nova", how Nova behaves, and "repair",
what ironic-ownership changes about it. A table shows them with --long, and
has one row for each code without it."""
    examples = (
        'nova check --cell mysql+pymysql://reader:PW@db/nova --cloud admin',
        'nova check --cell /etc/nova/nova.conf --cloud admin --report nova.md',
        'nova check',
        'nova check -f json',
    )
    nothing = 'No problems found'
    keys = schemas.keys(_FINDINGS)
    long = 'name all findings and subjects, and how Nova behaves'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            '--cell',
            metavar='URL',
            action='append',
            help='database of a cell, as [database] connection of its '
            'nova-conductor has it; or the path of that nova.conf. Repeat it '
            'for each cell',
        )
        parser.add_argument(
            '--cloud',
            metavar='NAME',
            default=os.environ.get('OS_CLOUD'),
            help='cloud of clouds.yaml with Ironic and Placement',
        )
        parser.add_argument(
            '--report',
            metavar='FILE',
            help='with --cell: write a report in Markdown to this file, too',
        )

    def words(self, cell: Any) -> Any:
        return '\n'.join(cell) if isinstance(cell, list) else cell

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        from ironic_ownership_nova.cell import check, nova_options, plugin

        conf = self.wiring.conf
        conf.register_opts(plugin.OPTS, plugin.GROUP)  # without [nova], too
        if parsed_args.cell:
            return self._examine(parsed_args)
        configuration = nova_options.read(conf.nova.config_file)
        if configuration is not None:
            text = configuration.summary()
            self.app.stderr.write(f'{errors.PROG}: {text}\n')
        found = check.of_cell(
            _cell(self.wiring),
            self.wiring.records,
            self.wiring.backend,
            configuration,
        )
        if found:
            self.exit_code = errors.ExitCode.DEGRADED
        return self.table(_FINDINGS, found)

    def _examine(self, parsed_args: argparse.Namespace) -> base.Table:
        from ironic_ownership_nova.doctor import examination, report, sources

        done = examination.examine(
            sources.of_options(
                parsed_args.cell,
                self.wiring.conf,
                parsed_args.cloud,
                app.reading_progress(self.app.stderr),
            ),
            self.say,
        )
        if parsed_args.report:
            pathlib.Path(parsed_args.report).write_text(report.markdown(done))
        if done.findings or done.skipped:
            self.exit_code = errors.ExitCode.DEGRADED
        self.nothing = report.nothing(done)
        if parsed_args.formatter == 'table' and not parsed_args.long:
            return self.table(report.SHORT, report.by_code(done.findings))
        return self.table((*_FINDINGS, *report.MORE), done.findings)


class AdoptNova(base.Lister):
    """Adopt the nodes of a Nova cell: the host of each row becomes its owner.

    Services of stock Nova may run meanwhile, and nothing changes for them:
    they count as neither alive nor dead until they register. Run it again at
    any time: it continues where it ended, follows what stock Nova has moved
    since, and does not touch nodes of services that have registered.
    """

    uses_api = False
    notes = """\
Nodes whose row, instance and record do not agree are refused and listed with
the reason; the exit code is then 3, and the others are adopted. Without
--all only nodes are shown that are not unchanged.

To return to stock Nova see "nova return"."""
    nothing = 'No node has to be adopted: the records agree with the cell'
    keys = schemas.keys(_ADOPTED)
    examples = ('nova adopt --dry-run', 'nova adopt --yes', 'nova adopt --all')
    flags: ClassVar = {'--all': 'show unchanged nodes as well'}

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_confirmation(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        from ironic_ownership_nova.cell import adopt
        from ironic_ownership_nova.cell.model import State

        wiring = self.wiring
        operation = adopt.AdoptCell(
            _cell(wiring),
            wiring.records,
            wiring.ironic,
            wiring.scope,
        )
        found = operation.propose()
        new = [n for n in found if n.state is State.ADOPTED]
        if not parsed_args.dry_run and new:
            hosts = {node.host for node in new}
            change.confirm(
                parsed_args,
                f'Adopt {counted(len(new), "node")} of '
                f'{counted(len(hosts), "service")}',
            )
        if not parsed_args.dry_run:
            found = operation.execute(found, _announced('adopt nodes'))
        counts = {
            state: sum(node.state is state for node in found)
            for state in (State.ADOPTED, State.UNCHANGED, State.REFUSED)
        }
        if counts[State.REFUSED]:
            self.exit_code = errors.ExitCode.REFUSED
        LOG.info(
            '%s',
            ', '.join(f'{number} {state}' for state, number in counts.items()),
        )
        return self.table(
            _ADOPTED,
            [
                node
                for node in found
                if parsed_args.all or node.state is not State.UNCHANGED
            ],
        )


class ReturnNova(base.Lister):
    """Return services to stock Nova, after their nova-compute was stopped.

    Between the stop of a nova-compute and its start with Nova's own driver:
    from then on no peer takes its free nodes, although it is not alive for
    this project any more. The rows of the cell are always those that Nova
    needs, so nothing else has to be converted. "nova adopt" is possible again
    at any time.
    """

    uses_api = False
    notes = """\
A service with a live process is refused, and the exit code is then 3. Under a
policy with a ring run it within [membership] restart_grace after the stop:
after that, the peers take the free nodes of the service."""
    keys = schemas.keys(_STATE)
    examples = ('nova return host1 --dry-run', 'nova return host1 --yes')

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        arguments.add_confirmation(parser)
        parser.add_argument(
            'hosts',
            metavar='HOST',
            nargs='+',
            help='host names as in "service list"; case-insensitive',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        from ironic_ownership_nova.cell import adopt
        from ironic_ownership_nova.cell.model import State

        wiring = self.wiring
        operation = adopt.ReturnServices(
            _cell(wiring), wiring.records, wiring.backend
        )
        found = operation.propose(parsed_args.hosts)
        new = [one.host for one in found if one.state is State.RETURNED]
        if new and not parsed_args.dry_run:
            change.confirm(
                parsed_args, f'Return {", ".join(map(str, new))} to stock Nova'
            )
            found = operation.execute(found, _announced('return services'))
        if any(one.state is State.REFUSED for one in found):
            self.exit_code = errors.ExitCode.REFUSED
        return self.table(_STATE, found)
