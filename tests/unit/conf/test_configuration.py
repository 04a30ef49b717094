from __future__ import annotations

from typing import Any

from oslo_config import cfg

from ironic_ownership.conf import configuration
from ironic_ownership.contracts import exceptions, options, policy
from tests.unit import configurations

Type = options.OptionType


def option(kind: options.OptionType, **values: Any) -> options.Option:
    return options.Option('name', kind, 'Help.', **values)


class TestOptions(configurations.ConfiguredCase):
    def test_each_type_reads_its_text_within_its_bounds(self) -> None:
        texts: list[str] = []
        for declared, good, bad in (
            (option(Type.STRING), {'a, b': 'a, b'}, texts),
            (option(Type.BOOLEAN), {'yes': True}, ['maybe']),
            (option(Type.LIST), {'a, b': ['a', 'b']}, texts),
            (option(Type.INTEGER, minimum=1, maximum=3), {'3': 3}, ['0', '4']),
            (option(Type.FLOAT, minimum=1, maximum=3), {'1': 1}, ['0', '4']),
            # The maximum of a string is its length.
            (option(Type.STRING, maximum=3), {'abc': 'abc'}, ['abcd']),
            # A regular expression has to match the whole text.
            (
                option(Type.STRING, regex='a|bc'),
                {'bc': 'bc'},
                ['ab', 'xbc', 'bcx', 'a\nb', ''],
            ),
        ):
            read = configuration.to_oslo(declared).type
            for text, value in good.items():
                self.assertEqual(value, read(text))
            for text in bad:
                with self.assertRaises(ValueError, msg=text):
                    read(text)
        for kind in Type:
            configuration.to_oslo(option(kind))

    def test_number_that_is_none_is_refused_in_every_group(self) -> None:
        made = configuration.to_oslo(option(Type.FLOAT, minimum=0))
        for text in ('nan', 'inf', '1e400'):
            conf = self.configure(f'[policy_p]\nname = {text}')
            conf.register_opt(made, 'policy_p')
            with self.assertRaisesRegex(cfg.Error, 'not a finite number'):
                _ = conf.policy_p.name
            with self.assertRaises(ValueError):
                conf.set_override('name', text, 'policy_p')

    def test_names_default_help_and_secrecy_carry_over(self) -> None:
        names = ('alias', 'old')
        made = configuration.to_oslo(
            option(Type.LIST, default=('a',), secret=True, aliases=names)
        )
        self.assertEqual(
            ('name', ['a'], 'Help.', True),
            (made.name, made.default, made.help, made.secret),
        )
        self.assertEqual({*names}, {opt.name for opt in made.deprecated_opts})

    def test_fault_never_shows_a_secret(self) -> None:
        class Policy(policy.FilterPolicy):
            options = (
                option(Type.INTEGER, secret=True),
                options.Option(
                    *('other', Type.STRING, 'Help.'),
                    secret=True,
                    check=lambda value: f'{value} is too short',
                ),
                options.Option('third', Type.STRING, 'Help.', secret=True),
                options.Option(
                    *('last', Type.STRING, 'Help.'),
                    secret=True,
                    check=lambda value: 'it is empty',
                ),
            )

        conf = self.configure(
            '[policy_p]\nname = hush-hush\nother = hush-hush\n'
            'third = $hush-hush\nlast ='
        )
        configuration.register(conf, 'p', Policy)
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            configuration.values(conf, 'p', Policy)
        self.assertNotIn('hush-hush', str(caught.exception))
        self.assertEqual(
            [
                '[policy_p] name: the value, which is secret, is not valid',
                '[policy_p] other: *** is too short',
                '[policy_p] third: a $ is written $$',
                '[policy_p] last: it is empty',
            ],
            [*caught.exception.faults],
        )
