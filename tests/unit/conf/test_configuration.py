from __future__ import annotations

import unittest

from ironic_ownership.conf import configuration
from ironic_ownership.contracts import exceptions, options, policy
from tests.unit import configurations

Type = options.OptionType


def option(kind: options.OptionType, **values) -> options.Option:
    return options.Option('name', kind, 'Help.', **values)


class TestOptions(unittest.TestCase):
    def parsed(self, declared: options.Option, text: str):
        return configuration.to_oslo(declared).type(text)

    def test_each_type_reads_its_text(self) -> None:
        for kind, text, value in (
            (Type.STRING, 'a, b', 'a, b'),
            (Type.INTEGER, '5', 5),
            (Type.FLOAT, '0.5', 0.5),
            (Type.BOOLEAN, 'yes', True),
            (Type.LIST, 'a, b', ['a', 'b']),
        ):
            self.assertEqual(value, self.parsed(option(kind), text))

    def test_every_type_is_known(self) -> None:
        for kind in options.OptionType:
            configuration.to_oslo(option(kind))

    def test_regex_has_to_match_the_whole_text(self) -> None:
        declared = option(Type.STRING, regex='a|bc')
        self.assertEqual('bc', self.parsed(declared, 'bc'))
        for text in ('ab', 'xbc', 'bcx', 'a\nb', ''):
            with self.assertRaises(ValueError):
                self.parsed(declared, text)

    def test_bounds_are_kept(self) -> None:
        for kind in (Type.INTEGER, Type.FLOAT):
            declared = option(kind, minimum=1, maximum=3)
            self.parsed(declared, '3')
            for text in ('0', '4'):
                with self.assertRaises(ValueError):
                    self.parsed(declared, text)

    def test_maximum_of_a_string_is_its_length(self) -> None:
        self.parsed(option(Type.STRING, maximum=3), 'abc')
        with self.assertRaises(ValueError):
            self.parsed(option(Type.STRING, maximum=3), 'abcd')

    def test_names_default_help_and_secrecy_carry_over(self) -> None:
        made = configuration.to_oslo(
            option(
                Type.LIST,
                default=('a',),
                secret=True,
                aliases=('alias', 'old'),
            )
        )
        self.assertEqual(
            ('name', ['a'], 'Help.', True),
            (made.name, made.default, made.help, made.secret),
        )
        self.assertEqual(
            {'alias', 'old'}, {opt.name for opt in made.deprecated_opts}
        )


class TestSecrets(configurations.ConfiguredCase):
    def test_fault_never_shows_a_secret(self) -> None:
        class Policy(policy.FilterPolicy):
            options = (
                option(Type.INTEGER, secret=True),
                options.Option(
                    'other',
                    Type.STRING,
                    'Help.',
                    secret=True,
                    check=lambda value: f'{value} is too short',
                ),
            )

        conf = self.configure(
            '[policy_p]\nname = hush-hush\nother = hush-hush'
        )
        configuration.register(conf, 'p', Policy)
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            configuration.values(conf, 'p', Policy)
        self.assertNotIn('hush-hush', str(caught.exception))
        self.assertEqual(
            [
                '[policy_p] name: the value, which is secret, is not valid',
                '[policy_p] other: *** is too short',
            ],
            [*caught.exception.faults],
        )
