"""``ring show`` and ``ring preview``: peer groups, now and in a scenario."""

from __future__ import annotations

import argparse

from ironic_ownership.cli import base, comparison, errors
from ironic_ownership.contracts import model


class ShowRing(base.Lister):
    """Show the peer groups: services that share nodes, and their shares.

    From the records and the members only; works while Ironic is down.
    """

    notes = """\
Services with the same "ring" decide together. A ring with one peer and
without an assigner is a service that owns its nodes exclusively. "share" is
the part of the ring's nodes that the service owns by the records. "of_mean" is
its number of nodes, divided by the number that it should have: by the shares
that the assigner declares, such as weights, or else the mean of the ring. It
is empty if none can be expected. Disabled and forced-down services, and
members whose settings cannot be read here, are in no ring."""
    examples = ('ring show', 'ring show --long -f json')
    operation = 'ring:show'
    long = 'also show policies, settings and the names of all peers'


class PreviewRing(comparison.Comparison):
    """Show which nodes would move if members left or joined.

    Nothing is changed. Records and instances count: a node with an instance
    always stays with its service.
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
    operation = 'ring:preview'

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        _check_usage(parsed_args)
        return self.compared(self.read(parsed_args))


def _check_usage(parsed_args: argparse.Namespace) -> None:
    given = vars(parsed_args)
    gone = set(map(model.canonical_host, given['without'] or ()))
    new = set(map(model.canonical_host, given['with'] or ()))
    if not gone and not new:
        raise errors.UsageError(
            'nothing to preview', hint='Name services: --without or --with'
        )
    if parsed_args.like is not None and not new:
        raise errors.UsageError('--like is about --with, which is missing')
    for host in sorted(gone & new):
        raise errors.UsageError(f'{host} cannot both leave and join')
    if '' in new:
        raise errors.UsageError('a service has a name')
