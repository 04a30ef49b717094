"""The members in the store: each an id that is used once, and its data.

The data of an id never changes, so a client reads it once, and stores that
cannot change data suffice. New settings need a new id with a higher revision:
both exist for a moment, and the higher one counts.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import json
import urllib.parse
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Protocol

from tooz import coordination

from ironic_ownership.contracts import member_settings, model

_KEY = 'ironic_ownership'

_ATTEMPTS = 5
"""Reads of the members, when some leave during each of them."""

# Short names of keys and nodes; the rest is for the nonce.
_LONGEST_NAME = 120
_LONGEST_INCARNATION = 64


@dataclasses.dataclass(frozen=True)
class MemberRecord:
    """One membership of a process.

    :param revision: grows with every join and change of the process.
    """

    member: model.Member
    revision: int

    def new_id(self) -> bytes:
        """Return a new id: host and incarnation for people, and a nonce."""
        member = self.member
        host = urllib.parse.quote(member.host, safe='')[:_LONGEST_NAME]
        incarnation = urllib.parse.quote(member.incarnation, safe='')
        return '.'.join(
            (host, incarnation[:_LONGEST_INCARNATION], uuid.uuid4().hex[:16])
        ).encode('ascii')

    def to_data(self) -> dict[str, str]:
        return {
            _KEY: json.dumps(
                {
                    'host': self.member.host,
                    'incarnation': self.member.incarnation,
                    'joined_at': self.member.joined_at,
                    'revision': self.revision,
                    'settings': self.member.settings.to_json(),
                },
                sort_keys=True,
            )
        }

    @classmethod
    def from_data(cls, data: object) -> MemberRecord | None:
        """Read data of :meth:`to_data`; ``None`` for that of others."""
        text = data.get(_KEY) if isinstance(data, Mapping) else None
        if not isinstance(text, str):
            return None
        try:
            found = member_settings.strict_json(text)
            host, incarnation = found['host'], found['incarnation']
            if not (isinstance(host, str) and isinstance(incarnation, str)):
                return None
            return cls(
                model.Member(
                    host,
                    incarnation,
                    float(found['joined_at']),
                    _settings(found['settings']),
                ),
                int(found['revision']),
            )
        # Any client of the store may have written it.
        except Exception:  # noqa: BLE001
            return None


_settings = functools.lru_cache(maxsize=64)(member_settings.stored)


def newest(records: Iterable[MemberRecord]) -> model.View:
    """Return the view of the newest record of each process."""
    chosen: dict[tuple[str, str], MemberRecord] = {}
    # A process that changes its settings has two for a moment: the later one
    # counts.
    for record in sorted(records, key=lambda record: record.revision):
        chosen[record.member.host, record.member.incarnation] = record
    return model.View.of(record.member for record in chosen.values())


Parse = Callable[[bytes, object], MemberRecord | None]
"""Reads the data of an id; called once per id."""


class Reader(abc.ABC):
    """Lists the ids of the group, and reads the data of the new ones."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse
        self._known: dict[bytes, MemberRecord | None] = {}

    def read(self) -> Mapping[bytes, MemberRecord | None]:
        """Return the members by id; the same object if nothing has changed."""
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
        for member_id in data.keys() & ids:
            found[member_id] = self._parse(member_id, data[member_id])
        self._known = found
        return found

    @abc.abstractmethod
    def _ids(self) -> set[bytes]:
        """Return the ids of all members."""

    @abc.abstractmethod
    def _data_of(self, ids: set[bytes]) -> dict[bytes, object]:
        """Return the data of those ids that have not left."""


class Settings(Protocol):
    """A driver of tooz, as far as readers know it."""

    reads_in_bulk: ClassVar[bool]
    request_timeout: float


class ToozReader(Reader):
    """The reader that works with every driver of tooz."""

    def __init__(
        self,
        driver: Settings,
        coordinator: coordination.CoordinationDriver,
        group: bytes,
        parse: Parse,
    ) -> None:
        super().__init__(parse)
        self._driver, self._coordinator = driver, coordinator
        self._group = group

    def _ids(self) -> set[bytes]:
        return set(self._answer(self._coordinator.get_members(self._group)))

    def _data_of(self, ids: set[bytes]) -> dict[bytes, object]:
        # None before tooz 9.1.
        read_all = getattr(
            self._coordinator, 'get_members_with_capabilities', None
        )
        if ids and read_all and self._driver.reads_in_bulk:
            all_data = self._answer(read_all(self._group))
            return {i: all_data[i] for i in ids if i in all_data}
        found: dict[bytes, object] = {}
        for member_id in ids:
            try:
                found[member_id] = self._answer(
                    self._coordinator.get_member_capabilities(
                        self._group, member_id
                    )
                )
            except coordination.MemberNotJoined:
                continue  # has left in the meantime
        return found

    def _answer(self, result: Any) -> Any:
        return result.get(timeout=self._driver.request_timeout)
