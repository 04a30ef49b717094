"""A member that changes its id while others read is never absent."""

from __future__ import annotations

import base64
import threading
import types
import unittest
from typing import Any
from unittest import mock

from tooz import coordination, utils

from ironic_ownership.backends.tooz import etcd_members
from ironic_ownership.backends.tooz.members import ToozReader

PREFIX = b'group/'


class TestChangeStream(unittest.TestCase):
    def test_thread_that_cannot_be_started_is_started_later(self) -> None:
        client = mock.Mock()
        client.session.post.side_effect = OSError('down')
        stream = etcd_members.ChangeStream(
            client, PREFIX, timeout=(1.0, 1.0), turn_from=mock.Mock()
        )
        full = RuntimeError("can't start new thread")
        with (
            mock.patch.object(threading.Thread, 'start', side_effect=full),
            self.assertRaises(RuntimeError),
        ):
            stream.wait(60.0)
        with self.assertRaisesRegex(OSError, 'down'):
            stream.wait(60.0)


class TestData(unittest.TestCase):
    def test_data_of_another_program_are_none(self) -> None:
        for raw in (
            b'x',
            b'\xd4\x01\x13',
            b'\xd4\x01\x80',
            b'\xd6\x03\xd5\x06\xc8\x81',
        ):
            row = {'value': base64.b64encode(raw)}
            self.assertNotIsInstance(etcd_members._data(row), dict)


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

    def get_members(self, group: bytes) -> Any:
        def work(timeout: float) -> set[bytes]:
            ids = set(self.members)
            self.change()
            return ids

        return types.SimpleNamespace(get=work)

    def get_member_capabilities(self, group: bytes, member_id: bytes) -> Any:
        def work(timeout: float) -> object:
            if member_id not in self.members:
                raise coordination.MemberNotJoined(group, member_id)
            return self.members[member_id]

        return types.SimpleNamespace(get=work)


class Etcd:
    """The same members as the client of etcd shows them."""

    def __init__(self, members: Changing) -> None:
        self._members = members
        self.fails = False

    @property
    def _header(self) -> Any:
        return {'revision': max(map(str, self._members.members), default='')}

    def get_url(self, path: str) -> str:
        return path

    def transaction(self, request: Any) -> Any:
        (one,) = request['success']
        return {
            'header': self._header,
            'responses': [
                {'response_range': self.post('', one['request_range'])}
            ],
        }

    def post(self, _url: str, json: Any) -> Any:
        if self.fails and 'keys_only' not in json:
            raise OSError('no answer')
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
        header = self._header
        if 'range_end' in json:
            self._members.change()
        return {'header': header, 'kvs': rows}


DRIVER = types.SimpleNamespace(reads_in_bulk=False, request_timeout=1)
REDIS = types.SimpleNamespace(reads_in_bulk=True, request_timeout=1)


def parse(_id: bytes, data: object) -> object:
    return data


class TestReaders(unittest.TestCase):
    def readers(self, members: Changing) -> list[Any]:
        return [
            ToozReader(DRIVER, members, b'g', parse),
            # As before tooz 9.1, which reads all in one call.
            ToozReader(REDIS, members, b'g', parse),
            etcd_members.MemberReader(Etcd(members), PREFIX, parse),
        ]

    def test_member_that_changes_between_two_requests_is_seen(self) -> None:
        for number in range(3):
            # The first read misses no member either.
            for changes in (0, 1, 3):
                reader = self.readers(Changing(changes))[number]
                self.assertEqual(1, len(reader.read()), (number, changes))
            members = Changing(0)
            reader = self.readers(members)[number]
            self.assertEqual({b'0': {'n': '0'}}, dict(reader.read()))
            for changes in (1, 2, 3):
                members.left = changes
                members.change()
                self.assertEqual(1, len(reader.read()), (number, changes))

    def test_member_is_seen_after_a_read_of_its_data_failed(self) -> None:
        members = Changing(0)
        etcd = Etcd(members)
        reader = etcd_members.MemberReader(etcd, PREFIX, parse)
        self.assertEqual({b'0'}, set(reader.read()))
        members.left = 1
        members.change()
        etcd.fails = True
        with self.assertRaises(OSError):
            reader.read()
        etcd.fails = False
        self.assertEqual({b'1'}, set(reader.read()))
        self.assertIs(reader.read(), reader.read())
