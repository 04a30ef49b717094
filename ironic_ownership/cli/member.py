"""``member list``: the processes that the membership backend sees alive."""

from __future__ import annotations

import argparse
import logging

from ironic_ownership import wiring
from ironic_ownership.cli import base, errors
from ironic_ownership.engine.membership import member_listing
from ironic_ownership.observe import service

LOG = logging.getLogger(__name__)


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
    examples = ('member list', 'member list -f json')

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """List the members."""
        wired = self.wiring
        found = member_listing.take(
            wired.ready_records, wired.backend, wiring.interpret
        )
        for doubt in found.doubts:
            LOG.warning('%s', ' '.join(doubt.split()))
            self.exit_code = errors.ExitCode.DEGRADED
        return self.table(service.MEMBER, found.readings)
