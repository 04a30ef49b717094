"""``service list|show`` and ``member list``: from records and membership.

Those of services work while the membership backend is down, with a warning.
Ironic is read for the long list only.
"""

from __future__ import annotations

import argparse

from ironic_ownership.cli import base

_NOTES = """\
"alive" is what the membership backend sees: up; standby, while only
processes are alive that stand by; away, if it was stopped for a while and its
nodes wait for it; or down. If the backend does not answer, alive is
"unknown" and the exit code is 4. "status" and "forced_down"
are an operator's doing; neither a disabled nor a forced-down service is given
nodes."""

_LONG_NOTES = """\
With --long, "free" are nodes without an instance. "unavailable" are nodes,
free or not, that could not be given to a client now: in maintenance, retired,
with a power error, or in a provision state other than available and active;
unknown, and the exit code 4, if Ironic does not answer. "of_mean" is the
number of nodes, divided by the number that the service should have: by the
shares that the assigner of its ring declares, or else the mean of the ring, or
without a ring that of all services without one. On a terminal it has a bar, in
which a line marks the mean; a full bar is twice the mean or more."""


class ListService(base.Lister):
    """List the compute services: alive or not, and how much they own."""

    watches, bar, missing = True, 'of_mean', 'no services are registered'
    operation, notes = 'service:list', f'{_NOTES}\n\n{_LONG_NOTES}'
    examples = ('service list', 'service list --long -f json')


class ShowService(base.ShowOne):
    """Show one compute service: row, membership, settings, nodes owned."""

    operation, notes = 'service:show', _NOTES
    examples = ('service show rack1', 'service show rack1 -f json')


_MEMBER = ('host', 'role', 'machine', 'pid', 'version', 'last_heartbeat')
"""The columns of a table."""


class ListMember(base.Lister):
    """List the members: live processes, as they advertise themselves.

    Asks the membership backend, and the records for who is active.
    """

    notes = """\
Several processes of one host are active and standby: the one that is named
in the records acts, and the others stand by. "readable" shows whether
this installation knows the policies that a member advertises, in their
contract version. A member that is not readable is left out of what this
program decides. If the records do not answer, "role" is "unknown" and the
exit code is 4."""
    examples = ('member list', 'member list --long', 'member list -f json')

    operation, nothing = 'member:list', 'No members'
    long = 'show all columns in a table, as other formats do'

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        is_table = parsed_args.formatter == 'table'
        if is_table and not parsed_args.long and not parsed_args.columns:
            parsed_args.columns = list(_MEMBER)
        return super().take_action(parsed_args)
