"""The port through which an operator deletes records of a gone node.

A service deletes its own records by a change of its own, which its epoch
guards. An operator acts for an owner that may be dead or alive, and so names
the owner for which the gates were evaluated.
"""

from __future__ import annotations

import abc

from ironic_ownership.contracts import reasons


class Removals(abc.ABC):
    """Deletions of records by operators.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsUnavailableError` when the database does not answer.
    """

    @abc.abstractmethod
    def begin_deletion(
        self, uuid: str, *, seen_host: str | None, seen_epoch: int | None
    ) -> str | None:
        """Mark the record of a node without an instance as being deleted.

        Its provider is deleted next, then :meth:`remove` follows. No event.
        A claim of a service that sees the node in Ironic again ends it.

        :param seen_host: owner on record when the gates were evaluated.
        :param seen_epoch: epoch of that owner then, if it had a row.
        :returns: why the record can't be deleted, in one line; then nothing
            was changed.
        """

    @abc.abstractmethod
    def remove(
        self,
        uuid: str,
        *,
        seen_host: str | None,
        seen_epoch: int | None,
        actor: str,
        reason: reasons.Reason = reasons.Reason.NODE_GONE,
        request_id: str | None = None,
    ) -> bool:
        """Delete the record of a node, which is marked as being deleted.

        The row stays, marked: a node that returns gets it back. Later writes
        of the owner about the node are refused. Leaves one event.

        :param seen_host: owner on record when the gates were evaluated.
        :param seen_epoch: epoch of that owner then, if it had a row.
        :param actor: user and place, for the event.
        :param request_id: of the operator's request.
        :returns: ``False`` if there is no such record, or mark, owner, epoch
            or instance are not as seen; then nothing was changed.
        """

    @abc.abstractmethod
    def forget_instance(
        self,
        uuid: str,
        instance_uuid: str,
        *,
        seen_host: str | None,
        seen_epoch: int | None,
        actor: str,
        reason: str,
        request_id: str | None = None,
    ) -> str | None:
        """Close the open instance of a node that Ironic does not have.

        The record of the node stays, without an instance. Leaves one event.

        :param uuid: of the node.
        :param seen_host: owner on record when the gates were evaluated.
        :param seen_epoch: epoch of that owner then, if it had a row.
        :param actor: user and place, for the event.
        :param reason: of the operator, for the event.
        :param request_id: of the operator's request.
        :returns: why nothing was changed, in one line; ``None`` if the
            instance is closed.
        """
