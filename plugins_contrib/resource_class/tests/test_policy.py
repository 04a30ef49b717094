"""The nodes that the filter admits, and its options."""

from __future__ import annotations

import unittest

from ironic_ownership_resource_class import (
    policy,
)

from ironic_ownership import (
    contracts,
)
from ironic_ownership_plugin_kit import (
    policy as suite,
)


def build(*classes: str) -> policy.ResourceClassPolicy:
    return policy.ResourceClassPolicy({'resource_classes': classes})


class TestContract(suite.FilterPolicyContract):
    policy_class = policy.ResourceClassPolicy
    settings = (
        {'resource_classes': ('baremetal',)},
        {'resource_classes': ('gpu', 'large')},
    )


class TestClasses(unittest.TestCase):
    def test_any_of_the_classes_is_admitted_to_the_letter(self) -> None:
        chosen = build('gold', 'silver')
        for name, expected in (
            ('gold', True),
            ('silver', True),
            ('Gold', False),
            ('CUSTOM_GOLD', False),
            ('bronze', False),
            ('', False),
            (None, False),
        ):
            with self.subTest(name=name):
                node = contracts.Node('1', resource_class=name)
                self.assertIs(expected, chosen.admits(node))

    def test_scope_is_everything(self) -> None:
        self.assertEqual(contracts.Scope(), build('gold').scope())


class TestSettings(unittest.TestCase):
    def test_order_repetition_and_spaces_mean_nothing(self) -> None:
        self.assertEqual(
            {'resource_classes': ('gold', 'silver')},
            build('silver', ' gold', 'silver', '').settings(),
        )

    def test_no_class_at_all_is_refused(self) -> None:
        for classes in ((), ('',), (' ', '')):
            with (
                self.subTest(classes=classes),
                self.assertRaises(contracts.PolicySettingsError) as caught,
            ):
                build(*classes)
            self.assertIn('resource_classes', str(caught.exception))

    def test_class_of_placement_is_remarked_upon(self) -> None:
        (remark,) = build('CUSTOM_GOLD', 'silver').remarks()
        self.assertIn('CUSTOM_GOLD', remark)
        self.assertEqual([], build('gold').remarks())
