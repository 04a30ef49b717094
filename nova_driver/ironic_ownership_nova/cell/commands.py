"""``nova``: check a Nova cell, adopt its nodes, return its services."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

from ironic_ownership.cli import base, change, connection, errors
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import request_id
from ironic_ownership.observe import columns
from ironic_ownership.observe.columns import Column

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
            ['[nova] cell_schema: no Nova cell is configured']
        )
    wiring.ensure_schema()
    return found.port


def _announced(what: str) -> str:
    """Log a change under a new request id, for its events."""
    new_id = request_id.new_id()
    change.announce(new_id, what)
    return new_id


class CheckNova(base.Lister):
    """Check a Nova cell: permissions, and rows that do not agree.

    Reads the cell that [nova] cell_schema names, the records, and
    [nova] config_file if that nova.conf is on this machine: it shows the
    settings that do the same as its options. Changes nothing. Nova itself is
    not asked, and need not be installed here.
    """

    uses_api = False
    notes = """\
The exit code is 0 without findings, and 4 with any. A finding that prevents
the adoption leaves out the nodes it names; the others can be adopted. Each
missing permission comes with the statement that gives it."""
    examples = ('nova check', 'nova check -f json')
    nothing = 'No problems found'
    keys = columns.keys(_FINDINGS)

    def words(self, cell: Any) -> Any:
        return '\n'.join(cell) if isinstance(cell, list) else cell

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        from ironic_ownership_nova.cell import check, nova_options, plugin

        conf = self.wiring.conf
        conf.register_opts(plugin.OPTS, plugin.GROUP)  # without [nova], too
        configuration = nova_options.read(conf.nova.config_file)
        if configuration is not None:
            text = configuration.summary()
            self.app.stderr.write(f'{errors.PROG}: {text}\n')
        found = check.CheckCell(_cell(self.wiring), configuration).run()
        if found:
            self.exit_code = errors.ExitCode.DEGRADED
        return self.table(_FINDINGS, found)


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
    keys = columns.keys(_ADOPTED)
    examples = ('nova adopt --dry-run', 'nova adopt --yes', 'nova adopt --all')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        change.add_arguments(parser)
        parser.add_argument(
            '--all', action='store_true', help='show unchanged nodes as well'
        )
        return parser

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
        new = [n for n in found.nodes if n.state is State.ADOPTED]
        if not parsed_args.dry_run and new:
            hosts = {node.host for node in new}
            change.confirm(
                parsed_args,
                f'Adopt {len(new)} nodes of {len(hosts)} services',
            )
        if not parsed_args.dry_run:
            found = operation.execute(
                found, connection.actor(), request_id=_announced('adopt nodes')
            )
        if found.refused:
            self.exit_code = errors.ExitCode.REFUSED
        counts = {
            state: sum(node.state is state for node in found.nodes)
            for state in (State.ADOPTED, State.UNCHANGED, State.REFUSED)
        }
        LOG.info(
            '%s',
            ', '.join(f'{number} {state}' for state, number in counts.items()),
        )
        return self.table(
            _ADOPTED,
            [
                node
                for node in found.nodes
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
policy with a ring set [membership] restart_grace before, or peers take the
free nodes of a service as soon as it is stopped."""
    keys = columns.keys(_STATE)
    examples = ('nova return host1 --dry-run', 'nova return host1 --yes')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        change.add_arguments(parser)
        parser.add_argument(
            'hosts',
            metavar='HOST',
            nargs='+',
            help='host names as in "service list"; case-insensitive',
        )
        return parser

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
            operation.execute(
                found, connection.actor(), _announced('return services')
            )
        if any(one.state is State.REFUSED for one in found):
            self.exit_code = errors.ExitCode.REFUSED
        return self.table(_STATE, found)
