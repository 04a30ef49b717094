from __future__ import annotations

import json
import unittest

import hypothesis
from hypothesis import strategies

from ironic_ownership.backends.tooz import members
from ironic_ownership.contracts import model

SETTINGS = model.MemberSettings((model.PolicySettings.of('all', {'n': 1}),))
TEXTS = strategies.text(min_size=1, max_size=255)


def advertised(
    host: str, incarnation: str = 'one', revision: int = 1
) -> members.MemberRecord:
    return members.MemberRecord(
        model.Member(host, incarnation, 12.5, SETTINGS), revision
    )


class TestMemberRecord(unittest.TestCase):
    @hypothesis.given(host=TEXTS, incarnation=TEXTS)
    def test_id_suits_every_store(self, host: str, incarnation: str) -> None:
        made = advertised(host, incarnation).new_id()
        # ZooKeeper: ASCII without slashes, and no name of dots alone.
        self.assertLessEqual(len(made), 220)
        self.assertRegex(made, rb'^[A-Za-z0-9%._~-]+$')
        self.assertNotEqual(b'', made.strip(b'.'))

    @hypothesis.given(host=TEXTS, incarnation=TEXTS)
    def test_data_is_read_as_it_was_written(
        self, host: str, incarnation: str
    ) -> None:
        one = advertised(host, incarnation, 7)
        self.assertEqual(one, members.MemberRecord.from_data(one.to_data()))
        # An id is never used twice.
        self.assertNotEqual(one.new_id(), one.new_id())

    def test_data_of_other_programs_is_not_read(self) -> None:
        good = advertised('host1').to_data()
        (key,) = good
        missing = json.loads(good[key])
        del missing['settings']
        for data in (
            None,
            {},
            {'weight': 1},
            b'',
            {key: 3},
            {key: 'no json'},
            {key: '[]'},
            {key: json.dumps(missing)},
        ):
            with self.subTest(data):
                self.assertIsNone(members.MemberRecord.from_data(data))

    def test_malformed_entry_is_ignored(self) -> None:
        good = advertised('host1').to_data()
        (key,) = good
        deep = '[' * 100_000 + ']' * 100_000
        policy = {'name': 'all', 'options': {}}

        def settings(**changed: object) -> dict[str, object]:
            whole = {'contract_version': 1, 'policies': [policy], **changed}
            return {'settings': json.dumps(whole)}

        for changed in (
            {'joined_at': float('nan')},
            {'joined_at': float('inf')},
            {'joined_at': 10**400},
            {'revision': float('inf')},
            {'host': {}},
            {'host': '\ud800'},
            {'incarnation': None},
        ):
            text = json.dumps({**json.loads(good[key]), **changed})
            with self.subTest(text[:200]):
                self.assertIsNone(members.MemberRecord.from_data({key: text}))
        self.assertIsNone(members.MemberRecord.from_data({key: deep}))
        # One of another release lives, although its settings are unknown.
        for changed in (
            {'settings': deep},
            settings(contract_version=float('inf')),
            settings(process={'machine': 'm', 'pid': 1e999, 'version': ''}),
            settings(policies=[{**policy, 'options': {'n': {'a': 1}}}]),
            settings(policies=[{**policy, 'options': {'n': '\ud800'}}]),
        ):
            text = json.dumps({**json.loads(good[key]), **changed})
            with self.subTest(text[:200]):
                found = members.MemberRecord.from_data({key: text}).member
                self.assertEqual('host1', found.host)
                self.assertEqual(0, found.settings.contract_version)

    def test_newest_record_of_each_process_counts(self) -> None:
        old, new = advertised('a', revision=2), advertised('a', revision=10)
        other = advertised('a', 'two')
        new = members.MemberRecord(
            model.Member('a', 'one', 1.0, model.MemberSettings()), 10
        )
        for records in ((old, new, other), (new, other, old)):
            self.assertEqual(
                (new.member, other.member), members.newest(records).members
            )
