"""The names that plugins of others are written against."""

from __future__ import annotations

import inspect
import unittest

from ironic_ownership import contracts

VERSION_1 = {
    'AssignerPolicy': {
        'assign': 'self nodes hosts',
        'check_host': 'self host',
        'peers': 'self host candidates scope',
        'remarks': 'self',
        'settings': 'self',
    },
    'BackendUnavailableError': {},
    'CONTRACT_VERSION': {},
    'Capability': {},
    'FilterPolicy': {
        'admits': 'self node',
        'check_host': 'self host',
        'remarks': 'self',
        'scope': 'self',
        'settings': 'self',
    },
    'Member': {},
    'MemberSettings': {'from_json': 'text', 'to_json': 'self'},
    'MembershipBackend': {
        'advertise': 'self settings',
        'beat': 'self',
        'close': 'self',
        'join': 'self host incarnation settings',
        'leave': 'self',
        'view': 'self',
        'watch': 'self timeout',
    },
    'MembershipError': {},
    'Node': {},
    'NotMemberError': {},
    'Option': {},
    'OptionType': {},
    'OwnershipError': {},
    'Policy': {},
    'PolicySettings': {'of': 'name options'},
    'PolicySettingsError': {},
    'Scope': {
        'intersect': 'self other',
        'matches': 'self shard conductor_group',
    },
    'Value': {},
    'View': {'get': 'self host', 'of': 'members'},
    'canonical_host': {},
}
"""Names of contract version 1, with what the methods take."""

VERSION_2 = {
    'AssignerPolicy': {
        'choose': 'self request',
        'member_values': 'self',
        'shares': 'self peers',
    },
    'AssignmentRequest': {},
    'Choice': {},
    'FilterPolicy': {'member_values': 'self'},
    'NODE_FIELDS': {},
    'Peer': {},
    'Source': {},
    'as_map': {},
}
"""What contract version 2 adds."""


class TestSurface(unittest.TestCase):
    def test_names_of_this_version_are_all_there(self) -> None:
        self.assertEqual(2, contracts.CONTRACT_VERSION)
        for names in (VERSION_1, VERSION_2):
            self.assertLessEqual(names.keys(), set(contracts.__all__))
        for name in contracts.__all__:
            self.assertTrue(hasattr(contracts, name), name)

    def test_methods_take_what_they_took(self) -> None:
        both = [*VERSION_1.items(), *VERSION_2.items()]
        for name, methods in both:
            for method, taken in methods.items():
                found = inspect.signature(
                    getattr(getattr(contracts, name), method)
                )
                required = [
                    parameter.name
                    for parameter in found.parameters.values()
                    if parameter.default is parameter.empty
                ]
                with self.subTest(name=name, method=method):
                    self.assertEqual(taken.split(), required)

    def test_nothing_more_has_to_be_implemented(self) -> None:
        for base, methods in (
            (contracts.FilterPolicy, set()),
            (contracts.AssignerPolicy, set()),
            (
                contracts.MembershipBackend,
                {'advertise', 'beat', 'join', 'leave', 'view'},
            ),
        ):
            self.assertEqual(
                methods, set(getattr(base, '__abstractmethods__', ()))
            )
