"""Policies and options in words: read as a configuration file is."""

from __future__ import annotations

import unittest

from ironic_ownership import plugins
from ironic_ownership.api import policy_options
from ironic_ownership.contracts import exceptions, model, refusals
from tests.unit import third_party

Given = policy_options.Given


def member(host: str, **options) -> model.Member:
    settings = model.PolicySettings.of('peer_list', options)
    return model.Member(host, 'one', 0.0, model.MemberSettings((settings,)))


def options_of(settings: model.MemberSettings) -> dict[str, dict]:
    return {p.name: dict(p.options) for p in settings.policies}


class OptionTest(unittest.TestCase):
    def test_host_and_policy_are_optional(self) -> None:
        for words, expected in (
            ('a=b', Given('', '', 'a', 'b')),
            ('H1:a=b=c', Given('h1', '', 'a', 'b=c')),
            ('h1.example:p.a=', Given('h1.example', 'p', 'a', '')),
            ('p.a=x:y', Given('', 'p', 'a', 'x:y')),
        ):
            self.assertEqual(expected, policy_options.option(words), words)

    def test_everything_else_is_refused(self) -> None:
        for words in ('', 'a', 'h1:a', '=b', 'h1:=b'):
            with self.assertRaises(refusals.ScenarioError, msg=words):
                policy_options.option(words)


class SettingsTest(unittest.TestCase):
    def settings(self, words: str, who: model.Member, *given: str):
        return options_of(
            policy_options.settings(
                who,
                policy_options.policies(words, lambda name: True),
                [policy_options.option(text) for text in given],
            )
        )

    def test_given_beats_advertised_beats_default(self) -> None:
        one = member('h1', peer_list=('h1', 'h2'))
        for given, expected in (
            ((), ('h1', 'h2')),
            (('peer_list=h1,h3',), ('h1', 'h3')),
            (('h1:peer_list=h1', 'peer_list=h1,h3'), ('h1',)),
            (('h2:peer_list=h2',), ('h1', 'h2')),
            (('peer_list=',), ()),
        ):
            found = self.settings('all,peer_list', one, *given)
            self.assertEqual(
                {'all': {}, 'peer_list': {'peer_list': expected}}, found
            )

    def test_values_are_canonical_as_those_of_a_service(self) -> None:
        self.assertEqual(
            {'conductor_group': {'conductor_group': 'g1'}},
            self.settings('conductor_group', member('h'), 'partition_key=G1'),
        )
        self.assertEqual(
            {'shard_key': {'shard_key': 'Rack'}},
            self.settings('shard_key', member('h'), 'shard=Rack'),
        )

    def test_what_could_not_start_is_refused(self) -> None:
        for words, given, said in (
            ('shard_key', (), 'h:shard_key=VALUE'),
            ('shard_key', ('shard_key=a/b',), 'shard_key=a/b'),
            ('peer_list', ('peer_list=other',), 'h could not run peer_list'),
        ):
            with self.assertRaises(exceptions.OwnershipError) as caught:
                self.settings(words, member('h'), *given)
            self.assertIn(said, str(caught.exception))


class CheckOptionsTest(unittest.TestCase):
    def check(self, *given: str) -> str:
        try:
            policy_options.check_options(
                [policy_options.option(text) for text in given],
                policy_options.policies(
                    'conductor_group,peer_list', lambda name: True
                ),
                {'h1'},
            )
        except exceptions.NotFoundError as exc:
            return str(exc)
        return ''

    def test_known_options_pass(self) -> None:
        self.assertEqual(
            '', self.check('h1:peer_list=a', 'conductor_group.partition_key=g')
        )

    def test_unknown_ones_are_told_their_neighbours(self) -> None:
        self.assertIn('mean peer_list', self.check('peer_lits=a'))
        self.assertIn('mean h1', self.check('h2:peer_list=a'))
        self.assertIn("policy 'all'", self.check('all.peer_list=a'))
        # An option of a policy that is not in either list.
        self.assertIn("option 'shard_key'", self.check('shard_key=a'))


class ImportTest(third_party.ThirdPartyCase):
    def test_policy_that_may_not_be_imported_is_refused(self) -> None:
        self.install('theirs')
        with self.assertRaisesRegex(
            refusals.ScenarioError, 'importable_policies'
        ):
            policy_options.policies('all,theirs', 'all'.__eq__)
        self.assertFalse(plugins.is_loaded(plugins.POLICIES, 'theirs'))
        policy_options.policies('all,theirs', lambda name: True)
