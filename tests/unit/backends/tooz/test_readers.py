"""A member that changes its id while others read is never absent."""

from __future__ import annotations

import base64
import unittest
from collections.abc import Callable
from typing import Any

from tooz import coordination, utils

from ironic_ownership.backends.tooz import etcd_members
from ironic_ownership.backends.tooz.members import ToozReader

PREFIX = b'group/'


class Answer:
    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work

    def get(self, timeout: float) -> Any:
        return self._work()


class Changing:
    """Members of which one leaves, and the next joins, at each read.

    :param changes: how many times that happens.
    """

    def __init__(self, changes: int) -> None:
        self.members = {b'0': {'n': '0'}}
        self.left = changes

    def change(self) -> None:
        if self.left:
            self.left -= 1
            (member_id,) = self.members
            number = str(int(member_id) + 1)
            self.members = {number.encode(): {'n': number}}

    def get_members(self, group: bytes) -> Answer:
        def work() -> set[bytes]:
            ids = set(self.members)
            self.change()
            return ids

        return Answer(work)

    def get_member_capabilities(
        self, group: bytes, member_id: bytes
    ) -> Answer:
        def work() -> object:
            if member_id not in self.members:
                raise coordination.MemberNotJoined(group, member_id)
            return self.members[member_id]

        return Answer(work)


class Etcd:
    """The same members as the client of etcd shows them."""

    def __init__(self, members: Changing) -> None:
        self._members = members
        self._revision = 1

    def get_url(self, path: str) -> str:
        return path

    def transaction(self, _request: object) -> Any:
        self._revision += 1
        return {
            'header': {'revision': str(self._revision)},
            'responses': [{'response_range': {}}],
        }

    def post(self, _url: str, json: Any) -> Any:
        first = base64.b64decode(json['key'])
        rows = [
            {
                'key': base64.b64encode(PREFIX + i),
                'mod_revision': str(i, 'ascii'),
                'value': base64.b64encode(utils.dumps(data)),
            }
            for i, data in self._members.members.items()
            if 'range_end' in json or first == PREFIX + i
        ]
        if 'range_end' in json:
            self._members.change()
        return {'header': {'revision': str(self._revision)}, 'kvs': rows}


def parse(_id: bytes, data: object) -> object:
    return data


class TestReaders(unittest.TestCase):
    def readers(self, members: Changing) -> list[Any]:
        return [
            ToozReader(members, b'g', parse, timeout=1),
            etcd_members.MemberReader(Etcd(members), PREFIX, parse),
        ]

    def test_member_that_changes_between_two_requests_is_seen(self) -> None:
        for number in range(2):
            members = Changing(0)
            reader = self.readers(members)[number]
            self.assertEqual({b'0': {'n': '0'}}, dict(reader.read()))
            members.change()
            for changes in (1, 2, 3):
                members.left = changes
                members.change()
                self.assertEqual(1, len(reader.read()), (number, changes))

    def test_first_read_misses_no_member_either(self) -> None:
        for number in range(2):
            for changes in (0, 1, 3):
                reader = self.readers(Changing(changes))[number]
                self.assertEqual(1, len(reader.read()), (number, changes))
