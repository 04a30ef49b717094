"""``compute node list|show|explain|check-action``."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import find_operation
from ironic_ownership.cli import arguments, base, errors, formatters
from ironic_ownership.engine.queries import deployment

_STATES = 'states:\n' + '\n'.join(
    f'  {state:<14}  {state.help}'
    for state in (*deployment.State, *deployment.Availability)
)
_RECORDED = """\
With --recorded the list comes from the records, within seconds for any number
of nodes, and says when the owners last read Ironic. Nodes without a record
are missing, and the state is that of the record."""
_ORDER = """\
A table of what Ironic says now is in the order of the names, everything else
in the order of the uuids. -f csv, -f json and -f value write each page when it
is read. If an error comes after that, standard error says that the list is
incomplete, the exit code is not 0, and JSON is not closed."""
_WIDTH = 76
_SCOPE = """\
Without a shard key in the configuration every node that Ironic shows to the
configured credential is listed, in any conductor group. With one, only
nodes of a shard are ever listed: the configured one, or that of --shard.
Records of the shard whose node is not in the list are looked up one by one,
and shown as Ironic describes them now, so that an orphan is really gone. If
there are too many, a warning says how many are left out, with exit code 4."""


class ListComputeNode(base.Lister):
    """List compute nodes with the owner of each, and the reason."""

    notes = f'{_STATES}\n\n{_SCOPE}\n\n{_RECORDED}\n\n{_ORDER}'
    examples = (
        'compute node list --state unowned orphan contested',
        'compute node list --state out-of-service -c uuid -c service',
        'compute node list --service rack1 --long',
        'compute node list --recorded --service rack1 -f csv',
        'compute node list --shard rack1 -f json -c uuid -c service',
    )

    operation, nothing = 'compute_node:list', 'No compute nodes'
    long = (
        'also show driver, provision state, maintenance, the owner as decided '
        'now, the service that the policies want, contending services, and '
        'whether the owner is alive'
    )
    options: ClassVar = {'shard': {'type': arguments.shard}}

    flags: ClassVar = {
        '--recorded': 'list what is on record, without asking Ironic'
    }

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        one, shown = self.described, self.chosen(parsed_args)
        query = arguments.query_of(one, vars(parsed_args))
        if parsed_args.recorded:
            for name in ('state', 'long'):
                if getattr(parsed_args, name):
                    raise errors.UsageError(
                        f'--{name} needs what Ironic says now',
                        hint=f'Leave out --{name} or --recorded',
                    )
            del query['state']
            one = find_operation('compute_node_record:list')
            shown = one.columns
        found: Iterable[Any] = self.listed(one.name, query)
        if parsed_args.formatter == 'table' and not parsed_args.recorded:
            found = sorted(found, key=lambda n: (n['name'] or '', n['uuid']))
        return self.rows(shown, found)


class ShowComputeNode(base.ShowOne):
    """Show one compute node: its record, Ironic's node, the decision.

    The node is found in any shard and conductor group.
    """

    notes = _STATES
    examples = (
        'compute node show 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node show rack1-node7 -f json',
        'compute node show rack1-node7 -f value -c service',
    )
    operation = 'compute_node:show'
    more = ('events',)


class ExplainComputeNode(base.ShowOne):
    """Explain the owner of a node: inputs, members, policies, rule, record.

    The answer depends on Ironic, the records and the members only; the
    configuration of this machine just says where to find these.
    """

    notes = """\
"members" are all known services, each with the reason why it is considered
for the node or not, and with the result of each of its policies. "rule" is
the rule that led to the decision, "record" the row in the database, "ironic"
the node in Ironic now (nothing if it answers 404), and "advice" what can be
done. The node is found in any shard and conductor group."""
    examples = (
        'compute node explain 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node explain rack1-node7 -f json',
        'compute node explain rack1-node7 --graph | dot -Tsvg > chain.svg',
    )
    operation = 'compute_node:explain'

    flags: ClassVar = {
        '--graph': 'write the chain from the inputs to the decision as a '
        'graph, in the DOT language of Graphviz'
    }

    def take_action(self, parsed_args: argparse.Namespace) -> base.Record:
        body = self.read(parsed_args)
        if parsed_args.graph:
            if parsed_args.formatter != 'table' or parsed_args.columns:
                raise errors.UsageError(
                    '--graph has a format of its own',
                    hint='Leave out --graph, or -f and -c',
                )
            self.text = '\n'.join(_dot(formatters.printable(body)))
        return self.cells(self.described.columns, body)

    def words(self, cell: Any) -> Any:
        return readable(cell)


class CheckActionComputeNode(base.ShowOne):
    """Check whether a node can be acted on now, and by which service.

    The node is in service, a service owns it, and that service is alive and
    may act on it. Otherwise the error names the condition that does not
    hold; for a node that is out of service it names driver, conductor group
    and the conductors that are needed.
    """

    notes = """\
The exit code is 0 if the node can be acted on, 3 if not, and 1 if that is
not known."""
    examples = (
        'compute node check-action 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node check-action rack1-node7 -f value -c service',
    )
    operation = 'compute_node:check_action'


def readable(cell: schemas.Cell) -> str | int | float:
    """Return a cell as text for people, one line for each thing."""
    if isinstance(cell, Mapping):
        return '\n'.join(_pairs(cell))
    if isinstance(cell, list) and cell:
        if isinstance(cell[0], Mapping):
            return '\n'.join(line for row in cell for line in _lines(row))
        if any(' ' in text for text in cell):
            return '\n'.join(_wrap(text, '* ') for text in cell)
    if isinstance(cell, str) and len(cell) > _WIDTH:
        return _wrap(cell, '')
    return formatters.readable(cell)


def _lines(member: Mapping[str, Any]) -> Sequence[str]:
    return [
        _wrap(f'{member["host"]}: {member["why"]}', ''),
        *(
            _wrap(f'{_policy(result)}: {result["says"]}', '  - ')
            for result in member['policies']
        ),
    ]


def _policy(result: Mapping[str, Any]) -> str:
    # A service of another release may not know the values.
    values = formatters.text(result.get('member_values', {}))
    said = [formatters.text(result['options'])]
    if values:
        said.append(f'for itself {values}')
    shown = '; '.join(filter(None, said))
    name = str(result['policy'])
    return f'{name} ({shown})' if shown else name


def _wrap(text: str, bullet: str) -> str:
    return formatters.filled(text, _WIDTH, bullet, ' ' * len(bullet))


_DOT_WIDTH = 40
"""Characters in a line of a box."""

_Row = Mapping[str, Any]


def _dot(shown: _Row) -> Iterator[str]:
    """Yield the graph of an explanation, from the inputs to the decision."""
    yield f'digraph "{_escaped(shown["name"] or shown["uuid"])}" {{'
    yield '  rankdir=LR; node [shape=box];'
    yield _box('inputs', 'Inputs', _pairs(shown['inputs']))
    for number, one in enumerate(shown['members']):
        name, style = f'member{number}', '' if one['considered'] else 'dashed'
        yield _box(name, one['host'], _member(one), style)
        yield f'  inputs -> {name}{f" [style={style}]" if style else ""};'
        if one['considered']:
            yield f'  {name} -> want;'
    yield _box('want', 'Policies want', _want(shown))
    yield _box('record', 'On record', _record(shown['record']))
    yield _box(
        'decision',
        f'Decision: {shown["decided_owner"] or "no service"}',
        [shown['reason'], shown['rule']],
        'bold',
    )
    yield '  want -> decision; record -> decision;'
    yield '}'


def _member(one: _Row) -> list[str]:
    policies = [f'{p["policy"]}: {p["says"]}' for p in one['policies']]
    return [one['why'], *policies]


def _want(shown: _Row) -> list[str]:
    want = shown['policies_want']
    found = ['nothing']
    if want is not None:
        found = [want['service'] or 'no service', want['reason']]
        found += [want['note']] if want['note'] else []
    if shown['assigner']:
        peers = formatters.readable(shown['live_peers'])
        found.append(f'{shown["assigner"]} over {peers}')
    return found


def _record(record: _Row | None) -> list[str]:
    if record is None:
        return ['nothing']
    alive = '' if record['service_alive'] else ', not alive'
    owner = f'{record["service"]}{alive}' if record['service'] else ''
    return [owner or 'no service', record['reason'], record['updated_at']]


def _pairs(inputs: _Row) -> list[str]:
    # The empty conductor group is a value and has to be visible.
    return [
        f'{key}: {repr(cell) if cell == "" else formatters.readable(cell)}'
        for key, cell in inputs.items()
    ]


def _box(name: str, title: str, texts: Sequence[str], style: str = '') -> str:
    lines = [
        line
        for text in (title, *texts)
        for line in textwrap.wrap(text, _DOT_WIDTH, break_on_hyphens=False)
    ]
    # \l ends a line that is aligned to the left.
    label = ''.join(f'{_escaped(line)}\\l' for line in lines)
    return f'  {name} [label="{label}"{f", style={style}" if style else ""}];'


def _escaped(text: str) -> str:
    return text.replace('\\', '\\\\').replace('"', '\\"')
