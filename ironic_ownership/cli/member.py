"""``member list``: the services that the membership backend sees alive."""

from __future__ import annotations

import argparse

from ironic_ownership import wiring
from ironic_ownership.cli import command
from ironic_ownership.observe import service


class ListMember(command.Lister):
    """List the members: live services, as they advertise themselves.

    Asks the membership backend and nothing else.
    """

    notes = """\
"readable" tells whether this installation knows the policies that a member
advertises, in their contract version. A member that is not readable is left
out of what this program decides."""
    examples = ('member list', 'member list -f json')

    def take_action(self, parsed_args: argparse.Namespace) -> command.Table:
        """List the members."""
        members = self.wiring.backend.view().members
        return self.table(
            service.MEMBER,
            (
                service.Reading(m, wiring.interpret(m.settings) is not None)
                for m in members
            ),
        )
