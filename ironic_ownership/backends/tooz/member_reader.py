"""Reading the members with what every driver of tooz offers.

One request for the ids; the data of an id never changes, so it is asked for
once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from tooz import coordination

T = TypeVar('T')
T_co = TypeVar('T_co', covariant=True)

Parse = Callable[[bytes, object], T]
"""Turns an id and its data into what is kept of them; called once an id."""

_READS = 5
"""How often the members are read anew when some leave meanwhile."""


class Reader(Protocol[T_co]):
    """Reads all members of the group."""

    def read(self) -> Mapping[bytes, T_co]:
        """Return the members alive now, by id, as they were parsed.

        :returns: the same object as the last time if nothing has changed.
        """


class IdReader(Generic[T]):
    """Lists the ids, and reads the data of the new ones.

    :param patience: seconds to wait for one answer.
    :param ignored: ids that the driver lists and that are no members.
    :param at_once: whether the data of all costs the store little more than
        the data of one.
    """

    def __init__(
        self,
        coordinator: coordination.CoordinationDriver,
        group: bytes,
        parse: Parse[T],
        *,
        patience: float,
        ignored: frozenset[bytes] = frozenset(),
        at_once: bool = False,
    ) -> None:
        self._coordinator = coordinator
        self._group = group
        self._parse = parse
        self._patience = patience
        self._ignored = ignored
        self._at_once = at_once
        self._known: dict[bytes, T] = {}

    def read(self) -> Mapping[bytes, T]:
        """Return the members alive now, by id."""
        try:
            # Who left between the requests may be back under another id: one
            # that changes its settings is not absent.
            for _ in range(_READS):
                ids = self._ids()
                if ids == self._known.keys():
                    return self._known
                data = self._data_of(ids - self._known.keys())
                if ids <= self._known.keys() | data.keys():
                    break
        except coordination.GroupNotCreated:
            # Nobody has joined yet, or the store was emptied.
            ids, data = set(), {}
        found = {i: self._known[i] for i in ids & self._known.keys()}
        for member_id, content in data.items():
            found[member_id] = self._parse(member_id, content)
        self._known = found
        return found

    def _ids(self) -> set[bytes]:
        ids = self._answer(self._coordinator.get_members(self._group))
        return set(ids) - self._ignored

    def _data_of(self, ids: set[bytes]) -> dict[bytes, object]:
        if ids and self._at_once:
            everybody = self._answer(
                self._coordinator.get_members_with_capabilities(self._group)
            )
            return {i: everybody[i] for i in ids if i in everybody}
        found: dict[bytes, object] = {}
        for member_id in ids:
            try:
                found[member_id] = self._answer(
                    self._coordinator.get_member_capabilities(
                        self._group, member_id
                    )
                )
            except coordination.MemberNotJoined:
                continue  # has left meanwhile
        return found

    def _answer(self, result: Any) -> Any:
        return result.get(timeout=self._patience)
