"""Detector of lost commits: services whose rows are older than they were.

The standby of an asynchronous replication may be promoted without the last
commits of its primary, and a restored backup lacks all that came later. Each
transaction raises the revision of every service from which it decides, so a
process that remembers the revisions sees when one has become smaller.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership.contracts import model


class LostCommits:
    """The greatest revision that this process has seen of each service.

    Threading: the refresh thread only.
    """

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}

    def observe(self, services: Mapping[str, model.Service]) -> dict[str, int]:
        """Return how many changes were lost, by service; empty if none.

        A service whose row is missing was deleted, or lost as well. Its next
        row begins with a greater revision.
        """
        revisions = {host: row.revision for host, row in services.items()}
        lost = {
            host: self._newest[host] - revision
            for host, revision in revisions.items()
            if revision < self._newest.get(host, 0)
        }
        self._newest = revisions
        return lost
