"""``member list``: the live processes, by the membership backend."""

from __future__ import annotations

import argparse

from ironic_ownership.api.resources import members
from ironic_ownership.cli import base

_SHORT = ('host', 'role', 'machine', 'pid', 'version', 'last_heartbeat')
"""The columns of a table."""


class ListMember(base.Lister):
    """List the members: live processes, as they advertise themselves.

    Asks the membership backend, and the records for who is active.
    """

    notes = """\
Several processes of one host are active and standby: the one that is named
in the records acts, the others wait for its end. "readable" tells whether
this installation knows the policies that a member advertises, in their
contract version. A member that is not readable is left out of what this
program decides. If the records do not answer, "role" is "unknown" and the
exit code is 4."""
    examples = ('member list', 'member list --long', 'member list -f json')

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--long',
            action='store_true',
            help='show all columns in a table, as other formats do',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        is_table = parsed_args.formatter == 'table'
        if is_table and not parsed_args.long and not parsed_args.columns:
            parsed_args.columns = list(_SHORT)
        body = self.api.call('member:list')
        self.warn(body)
        return self.rows(members.COLUMNS, body['members'])
