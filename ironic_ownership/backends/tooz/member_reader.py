"""Reader of the members that works with every driver of tooz.

One request lists the ids; the data of an id never changes: one read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from tooz import coordination

T = TypeVar('T')
T_co = TypeVar('T_co', covariant=True)

Parse = Callable[[bytes, object], T]
"""Converts an id and its data to the value to keep; called once per id."""

_ATTEMPTS = 5
"""Reads of the members, when some leave during each of them."""


class Reader(Protocol[T_co]):
    """Reads all members of the group."""

    def read(self) -> Mapping[bytes, T_co]:
        """Return the members by id; the same object if nothing has changed."""


@dataclasses.dataclass
class IdReader(Generic[T]):
    """Lists the ids, and reads the data of the new ones.

    :param ignored: ids that tooz lists although they are no members.
    :param in_bulk: see :attr:`Driver.reads_in_bulk`.
    """

    coordinator: coordination.CoordinationDriver
    group: bytes
    parse: Parse[T]
    _: dataclasses.KW_ONLY
    timeout: float
    ignored: frozenset[bytes] = frozenset()
    in_bulk: bool = False
    _known: dict[bytes, T] = dataclasses.field(
        init=False, default_factory=dict
    )

    def read(self) -> Mapping[bytes, T]:
        try:
            # A member that left between the requests may have another id
            # now: one that changes its settings is not absent.
            for _ in range(_ATTEMPTS):
                ids = self._ids()
                if ids == self._known.keys():
                    return self._known
                data = self._data_of(ids - self._known.keys())
                if ids <= self._known.keys() | data.keys():
                    break
        except coordination.GroupNotCreated:
            # There were no members yet, or the store was emptied.
            ids, data = set(), {}
        found = {i: self._known[i] for i in ids & self._known.keys()}
        for member_id, content in data.items():
            found[member_id] = self.parse(member_id, content)
        self._known = found
        return found

    def _ids(self) -> set[bytes]:
        ids = self._answer(self.coordinator.get_members(self.group))
        return set(ids) - self.ignored

    def _data_of(self, ids: set[bytes]) -> dict[bytes, object]:
        if ids and self.in_bulk:
            all_data = self._answer(
                self.coordinator.get_members_with_capabilities(self.group)
            )
            return {i: all_data[i] for i in ids if i in all_data}
        found: dict[bytes, object] = {}
        for member_id in ids:
            try:
                found[member_id] = self._answer(
                    self.coordinator.get_member_capabilities(
                        self.group, member_id
                    )
                )
            except coordination.MemberNotJoined:
                continue  # has left in the meantime
        return found

    def _answer(self, result: Any) -> Any:
        return result.get(timeout=self.timeout)
