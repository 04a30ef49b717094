"""``compute node list`` and ``compute node show``: who owns which node."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ironic_ownership.cli import command, failures, node
from ironic_ownership.contracts import model
from ironic_ownership.engine import census, survey
from ironic_ownership.observe import columns, compute_node, event

_STATES = """\
states:
  owned      a service owns it, and its policies agree
  unowned    Ironic has it, and no service owns it
  orphan     it has a record, and Ironic answers 404 for its uuid
  filtered   its owner keeps it although the owner's policies admit it no more
  contested  live services disagree about it"""


_SCOPE = """\
Without a shard key in the configuration every node that Ironic shows to the
configured credential is listed, whatever the conductor group. With one, only
nodes of a shard are ever listed: the configured one, or that of --shard.
Records of the shard whose node is not in the list are looked up one by one,
and shown as Ironic describes them now, so that an orphan is really gone."""


class ListComputeNode(command.Lister):
    """List compute nodes: who owns each node of Ironic, and why."""

    notes = f'{_STATES}\n\n{_SCOPE}'
    examples = (
        'compute node list --state unowned orphan contested',
        'compute node list --service rack1 --long',
        'compute node list --shard rack1 -f json -c uuid -c service',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--service',
            metavar='HOST',
            help='only nodes that this service owns, by the host name in '
            '"service list"; case does not count',
        )
        parser.add_argument(
            '--shard',
            type=_shard,
            metavar='SHARD',
            help='only nodes of this shard, exactly as in Ironic',
        )
        parser.add_argument(
            '--conductor-group',
            metavar='GROUP',
            help='only nodes of this conductor group; case does not count, '
            'and "" is the default group',
        )
        parser.add_argument(
            '--state',
            nargs='+',
            action='extend',
            choices=[state.value for state in survey.State],
            metavar='STATE',
            help='only nodes in one of these states: '
            f'{", ".join(sorted(survey.State))}; may be repeated',
        )
        parser.add_argument(
            '--long',
            action='store_true',
            help='also show driver, provision state, maintenance, the owner '
            'as decided now, the service that the policies want, contending '
            'services, and whether the owner is alive',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> command.Table:
        """List the compute nodes that the options ask for."""
        asked = parsed_args
        scope, host = self._scope(asked.shard, asked.conductor_group)
        found = census.take(self.ports, scope, host)
        service = _service(asked.service, found.services)
        findings = list(_placed(found.findings, asked))
        if not findings:
            self._check_place(asked.shard, asked.conductor_group)
        shown = compute_node.LONG if asked.long else compute_node.SHORT
        return self.table(
            shown,
            (
                finding
                for finding in findings
                if service in (None, compute_node.owner(finding))
                and (not asked.state or finding.state in asked.state)
            ),
        )

    def _scope(
        self, shard: str | None, group: str | None
    ) -> tuple[model.Scope, str]:
        """Return what Ironic is to filter by, and whose records to add.

        Law 4: with a shard key set no request without a shard filter lists
        nodes.
        """
        configured = self.wiring.scope
        sharded = configured.shard is not None
        scope, host = model.Scope(), ''
        if shard is not None:
            scope = model.Scope(shard=shard)
        elif sharded:
            scope = configured
            if group is None:
                # Also what left the shard and is still managed from here.
                host = self.wiring.settings.host
        if group is not None:
            scope = dataclasses.replace(scope, conductor_group=group.lower())
        return scope, host

    def _check_place(self, shard: str | None, group: str | None) -> None:
        """Refuse a shard or group that nobody has heard of.

        :raises NotFoundError: naming what is near.
        """
        records = self.ports.records
        if shard is not None:
            counted = self.ports.source.shard_counts()
            shards = {name for name in counted if name is not None}
            if shard not in shards:
                raise failures.unknown('shard', shard, shards)
        if group:
            groups = {r.conductor_group for r in records.compute_nodes()}
            groups |= set(_configured_groups(records.services()))
            if group.lower() not in groups:
                raise failures.unknown('conductor group', group, groups - {''})


def _service(asked: str | None, known: Collection[str]) -> str | None:
    if asked is None:
        return None
    host = model.canonical_host(asked)
    if host not in known:
        raise failures.unknown('service', asked, known)
    return host


def _placed(
    findings: Iterable[survey.Finding], asked: argparse.Namespace
) -> Iterable[survey.Finding]:
    """Return the findings in the shard and group that were asked for."""
    group = asked.conductor_group
    for finding in findings:
        shard, its_group = compute_node.place(finding)
        if asked.shard is not None and shard != asked.shard:
            continue
        if group is None or its_group == group.lower():
            yield finding


def _configured_groups(services: Iterable[model.Service]) -> Iterable[str]:
    for service in services:
        for policy in service.settings.policies:
            group = dict(policy.options).get('conductor_group')
            if isinstance(group, str):
                yield group


class ShowComputeNode(command.ShowOne):
    """Show one compute node: its record, Ironic's node, the decision.

    The node is asked for by its uuid, without any filter. A name is looked
    up in the records, and then among the nodes that "compute node list"
    would show.
    """

    notes = _STATES
    examples = (
        'compute node show 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node show rack1-node7 -f json',
        'compute node show rack1-node7 -f value -c service',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'node', metavar='UUID|NAME', help='uuid or name of the node'
        )
        parser.add_argument(
            '--events',
            type=_count,
            default=5,
            metavar='N',
            help='how many of its last events to show, newest first '
            '(default: 5)',
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        """Show the compute node."""
        uuid = node.uuid_of(self, parsed_args.node)
        finding = node.explained(self, uuid).finding
        events = (
            self.ports.records.events(node_uuid=uuid, limit=parsed_args.events)
            if parsed_args.events
            else ()
        )
        shown = compute_node.DETAILS
        return (
            (*columns.keys(shown), 'events'),
            (*columns.row(shown, finding), [event.cell(e) for e in events]),
        )


def _shard(text: str) -> str:
    if not text:
        # Ironic would take no shard at all for "any".
        raise argparse.ArgumentTypeError('a shard has a name')
    return text


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= 10000:
        raise argparse.ArgumentTypeError(f'{text} is not in 0 to 10000')
    return number
