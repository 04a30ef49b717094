"""Seam for tables of another program, for the loops and checks of a service.

An entry point of the group ``ironic_ownership.companions`` is a module that is
loaded where the configuration has the group of its name. Its ``OPTS`` are the
options of that group; ``open_companion(conf, database)`` returns a
:class:`Companion`, or ``None`` if they configure none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from ironic_ownership.contracts.placement import Placement


class Companion(Protocol):
    """Tables that change together with the records.

    Threading: any thread. Blocking: up to the database's time-outs. Failure:
    :class:`RecordsError` when the database does not answer.

    :ivar transactions: a ``db.linked_tables.LinkedTables``.
    """

    transactions: Any

    def follow_settings(self, actor: str) -> None:
        """Write settings of services that were changed there on record."""

    def try_to_follow_settings(self, actor: str) -> None:
        """Do the same; a refresh repeats what fails."""

    def correct(self, host: str, epoch: int) -> Collection[str]:
        """Correct rows of a service's nodes that do not follow its records.

        :returns: the uuids of nodes that must not be served.
        :raises FencedError: if the epoch is no longer the current one.
        """

    def read(
        self,
        attempt: Callable[..., Any],
        placement: Callable[[], Placement | None],
    ) -> Any:
        """Read what its checks evaluate.

        :param attempt: takes a part and a function that reads of it; returns
            ``None`` if the part does not answer.
        :returns: an object whose ``checks`` are those of ``check``.
        """
