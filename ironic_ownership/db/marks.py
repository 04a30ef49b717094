"""Marks on records, by which readers find those that have changed.

A transaction raises the revision of each service from which it decides. When
it changes what is on record for a node, it also writes a mark into that
record: one of these services, and the revision that the service gets. The row
of the service is locked until the commit, so nothing else raises it between.

One service is enough, whichever it is: a reader follows the revisions of all
of them, and asks for the marks of each one that rose. So a mark under any
service that rose in the same commit is found by the reader that sees the
commit. A transaction that decides from no service raises one for its mark:
``transaction.lock_any_service``.

``services.marked`` rises with the revision, but not in releases that write no
marks, which may run at the same time. So the difference of the two counts the
changes that left none. As long as it is what it was, all changes since are
marked; if it differs, a reader reads everything. It differs, too, after rows
were purged (``transaction.raise_unmarked``), and in the row of a service that
was deleted and made again: its first revision contains the time, and its
``marked`` is 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership.db import change_set


def of(
    services: Mapping[str, change_set.ServiceState],
) -> change_set.Row:
    """Return the columns with the mark of a transaction, for every record.

    :param services: locked and raised by the transaction. Without any there
        is no mark: no service reads the records.
    """
    host = min(services, default=None)
    if host is None:
        return {}
    return {'revision_host': host, 'revision': services[host].revision}
