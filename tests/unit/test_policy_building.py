from __future__ import annotations

import itertools
import unittest

from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.options import Option, OptionType
from ironic_ownership.policies import filters, peer_list
from ironic_ownership.settings import policy_building


class Plain(policy.FilterPolicy):
    """Answers by the book; each test lets one answer go wrong."""

    contract_version = 1
    options = (
        Option('colour', OptionType.STRING, 'A colour.'),
        Option('word', OptionType.STRING, 'A secret.', secret=True),
    )

    def settings(self):
        return {'colour': self._settings.get('colour')}


def _origin(target: type[policy.Policy]) -> str:
    return "policy 'plain' from them 1.0"


class TestValidation(unittest.TestCase):
    def refused(self, **methods: object) -> str:
        candidate = type('Odd', (Plain,), methods)({'colour': 'red'})
        with self.assertRaises(exceptions.PluginFaultError) as caught:
            policy_building.validate(candidate, _origin)
        (name,) = {m for m in methods if not m.startswith('_')}
        self.assertIn("policy 'plain' from them 1.0", str(caught.exception))
        self.assertIn(f'Odd.{name}', str(caught.exception))
        return str(caught.exception)

    def test_valid_policy_is_returned_with_options_and_remarks(self) -> None:
        tried = policy_building.validate(Plain({'colour': 'red'}), _origin)
        self.assertEqual({'colour': 'red'}, tried.options)
        self.assertEqual((), tried.remarks)
        group = policy_building.validate(
            filters.ConductorGroupPolicy({'conductor_group': 'G'})
        )
        self.assertEqual({'conductor_group': 'g'}, group.options)
        ring = policy_building.validate(
            peer_list.PeerListPolicy({'peer_list': ('B', 'a')})
        )
        self.assertEqual({'peer_list': ('a', 'b')}, ring.options)
        self.assertEqual(1, len(ring.remarks))

    def test_settings_that_cannot_be_advertised_are_refused(self) -> None:
        for wrong in (
            None,
            'text',
            {'colour': object()},
            {'colour': ['a']},
            {'colour': (1,)},
            {'colour': float('nan')},
            {1: 'a'},
        ):
            with self.subTest(wrong=wrong):
                self.refused(settings=lambda self, wrong=wrong: wrong)

    def test_secret_is_never_advertised(self) -> None:
        text = self.refused(
            settings=lambda self: {'colour': 'red', 'word': 'hunter2'}
        )
        self.assertIn("secret option 'word'", text)
        self.assertNotIn('hunter2', text)

    def test_value_of_a_secret_is_advertised_under_no_name(self) -> None:
        for shown in ('hunter2', 'hunter2222', ('a', 'hunter2222')):
            secret = 'hunter2' if shown == 'hunter2' else 'hunter22'
            candidate = type(
                'Odd', (Plain,), {'settings': lambda self, s=shown: {'a': s}}
            )({})
            with self.assertRaises(exceptions.PluginFaultError) as caught:
                policy_building.validate(candidate, _origin, {'word': secret})
            text = str(caught.exception)
            self.assertIn("secret option 'word'", text)
            self.assertIn("as 'a'", text)
            self.assertNotIn('hunter', text)

    def test_short_secret_may_be_part_of_another_word(self) -> None:
        for secret in ('red', 'reddish', '', None):
            policy_building.validate(
                Plain({'colour': 'redder'}), _origin, {'word': secret}
            )

    def test_settings_of_any_size_are_refused_with_both_sizes(self) -> None:
        with self.assertRaises(exceptions.PolicySettingsError) as caught:
            policy_building.validate(Plain({'colour': 'x' * 70_000}), _origin)
        text = str(caught.exception)
        for part in ('60000', '700', _origin(Plain), 'shorter'):
            self.assertIn(part, text)
        self.assertLess(len(text), 500)

    def test_settings_of_many_policies_are_limited_together(self) -> None:
        one = model.PolicySettings.of('one', {'a': 'x' * 25_000})
        two = model.PolicySettings.of('two', {'a': 'x' * 26_000})
        fits = model.MemberSettings((one, two))
        self.assertIsNone(fits.size_fault)
        fault = model.MemberSettings((one, two, one)).size_fault
        self.assertIn("'two'", fault or '')

    def test_settings_have_to_give_the_same_policy_again(self) -> None:
        def settings(self):
            return {'colour': f'{self._settings["colour"]}!'}

        self.assertIn("'red!!'", self.refused(settings=settings))

    def test_scope_and_remarks_of_another_form_are_refused(self) -> None:
        self.refused(scope=lambda self: {}['its own mistake'])
        for name, wrong in (
            *(('scope', None), ('scope', 'rack1')),
            *(('remarks', None), ('remarks', 'text'), ('remarks', [5])),
            ('remarks', itertools.repeat('a')),
        ):
            self.refused(**{name: lambda self, wrong=wrong: wrong})

    def test_values_of_all_types_are_advertised(self) -> None:
        values = {'a': 'x', 'b': 1, 'c': 0.5, 'd': True, 'e': None, 'f': ()}

        class Any(Plain):
            options = ()

            def settings(self):
                return self._settings

        tried = policy_building.validate(Any(values))
        advertised = model.MemberSettings(
            (model.PolicySettings.of('any', tried.options),)
        )
        self.assertEqual(
            advertised, model.MemberSettings.from_json(advertised.to_json())
        )
