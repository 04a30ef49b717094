"""``ring show`` and ``ring preview``: who shares nodes, and what if."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence

from ironic_ownership import wiring
from ironic_ownership.cli import base, comparison, errors
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.decision import scenario, settings_diff
from ironic_ownership.engine.decision.peer_groups import PeerGroup, PeerGroups
from ironic_ownership.engine.queries import balance
from ironic_ownership.observe import ring

LOG = logging.getLogger(__name__)


class ShowRing(base.Lister):
    """Show the peer groups: services that share nodes, and their shares.

    From the records and the members only; works while Ironic is down.
    """

    notes = """\
Services with the same "ring" decide together. A ring with one peer and
without an assigner is a service that owns its nodes exclusively. "share" is
the part of the ring's nodes that the service owns by the records, "of_mean"
the same against the mean of the ring. Disabled and forced-down services, and
members whose settings cannot be read here, are in no ring."""
    examples = ('ring show', 'ring show --long -f json')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--long',
            action='store_true',
            help='also show policies, settings and the names of all peers',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Show the rings."""
        records = self.wiring.ready_records()
        services = records.services()
        counts = records.counts()
        view = self.wiring.backend.view()
        found = PeerGroups.of(view, services, wiring.interpret)
        shown = ring.LONG if parsed_args.long else ring.SHORT
        owned = {host: nodes for host, (nodes, _) in counts.items()}
        return self.table(shown, _peers(found, owned))


def _peers(
    found: PeerGroups, owned: dict[str | None, int]
) -> Iterator[ring.Peer]:
    for number, group in enumerate(found.groups, start=1):
        hosts = sorted(group.peers)
        spread = balance.Spread({h: owned.get(h, 0) for h in group.hosts})
        total = sum(owned.get(host, 0) for host in hosts)
        for host in hosts:
            nodes = owned.get(host, 0)
            yield ring.Peer(
                ring=number,
                host=host,
                live=host in group.hosts,
                assigner=_assigner(group),
                nodes=nodes,
                share=nodes / total if total else None,
                of_mean=spread.of_mean(host),
                settings=group.settings,
                peers=hosts,
            )


def _assigner(group: PeerGroup) -> str | None:
    return settings_diff.assigner(group.settings, wiring.interpret)


class PreviewRing(comparison.Comparison):
    """Show which nodes would move if members left or joined.

    Nothing is changed. Records and instances count: a node with an instance
    stays with its service, whatever happens.
    """

    notes = """\
A new member gets the settings of the ring in question; a list of peers that
is written in these settings is kept for --without, and names the new member
for --with. A service that is known and not alive comes back with its own
settings, unless --like says otherwise."""
    examples = (
        'ring preview --without host3',
        'ring preview --with host4 --like host1 --nodes',
        'ring preview --without host1 --with host4 -f json',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        for option, dest, what in (
            ('--without', 'gone', 'as if these members died'),
            ('--with', 'new', 'as if these services joined'),
        ):
            parser.add_argument(
                option,
                dest=dest,
                nargs='+',
                action='extend',
                default=[],
                metavar='HOST',
                help=f'{what}; may be repeated, case does not count',
            )
        parser.add_argument(
            '--like',
            metavar='HOST',
            help='the live member whose settings a new one runs; needed if '
            'there are several rings',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Compare the services as they are with what they would be."""
        gone = list(map(model.canonical_host, parsed_args.gone))
        new = list(map(model.canonical_host, parsed_args.new))
        _check_question(gone, new, parsed_args.like)
        seen = self.read()
        before = scenario.Situation(
            seen.view or model.View(), seen.services or ()
        )
        for host in gone:
            if host not in before.view.hosts:
                raise errors.unknown('member', host, before.view.hosts)
        after = before
        for host in new:
            after = _joined(before, after, host, parsed_args.like)
        after = scenario.without(after, gone)
        return self.compared(
            seen,
            {record.uuid: record for record in seen.records or ()},
            before,
            after,
            nodes=parsed_args.nodes,
        )


def _check_question(
    gone: Collection[str], new: Collection[str], like: str | None
) -> None:
    if not gone and not new:
        raise errors.UsageError(
            'nothing to preview', hint='Name services: --without or --with'
        )
    if like is not None and not new:
        raise errors.UsageError('--like is about --with, which is missing')
    for host in sorted(set(gone) & set(new)):
        raise errors.UsageError(f'{host} cannot both leave and join')
    for host in new:
        if not host:
            raise errors.UsageError('a service has a name')


def _joined(
    before: scenario.Situation,
    so_far: scenario.Situation,
    host: str,
    like: str | None,
) -> scenario.Situation:
    """Return the situation with one more member.

    :raises OwnershipError: if it is a member, or nobody knows what it runs.
    """
    if host in before.view.hosts:
        raise exceptions.OwnershipError(
            f'{host} is a member already',
            hint='"ironic-ownership member list" shows all',
        )
    rows = {row.host: row for row in before.services}
    row = rows.get(host)
    if row is not None and (row.disabled or row.forced_down):
        LOG.warning(
            '%s is disabled or forced down and would own nothing', host
        )
    if like is not None:
        like = model.canonical_host(like)
        if like not in before.view.hosts:
            raise errors.unknown('member', like, before.view.hosts)
    elif row is not None and row.settings.policies:
        return scenario.joined_by(so_far, host, row.settings)
    else:
        like = _only_ring(before.peer_groups(wiring.interpret).groups)
    return scenario.joined_like(so_far, host, like)


def _only_ring(groups: Sequence[PeerGroup]) -> str:
    """Return a host of the one ring that there is.

    :raises OwnershipError: if there is none, or more than one.
    """
    rings = [g for g in groups if g.policies.assigner is not None] or groups
    if len(rings) == 1:
        return rings[0].hosts[0]
    if not rings:
        raise exceptions.OwnershipError(
            'there is no ring to join: no live, enabled member'
        )
    raise exceptions.OwnershipError(
        f'there are {len(rings)} rings, which one is meant?',
        hint=f'Name a member of it with --like: {_firsts(rings)}',
    )


def _firsts(groups: Iterable[PeerGroup]) -> str:
    return ', '.join(sorted(group.hosts[0] for group in groups))
