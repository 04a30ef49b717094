"""Policies and options in words: read as a configuration file is."""

from __future__ import annotations

from typing import Any

from ironic_ownership import plugins
from ironic_ownership.api import policy_options
from ironic_ownership.contracts import exceptions, model, refusals
from tests.unit import third_party

Given = policy_options.Given


def member(host: str, **options: Any) -> model.Member:
    settings = model.PolicySettings.of('peer_list', options)
    return model.Member(host, 'one', 0.0, model.MemberSettings((settings,)))


def read(words: str, who: model.Member, *given: str) -> dict[str, Any]:
    found = policy_options.settings(
        who,
        policy_options.policies(words, lambda name: True),
        [policy_options.option(text) for text in given],
    )
    return {one.name: dict(one.options) for one in found.policies}


class PolicyOptionsTest(third_party.ThirdPartyCase):
    def test_host_and_policy_are_optional(self) -> None:
        for words, expected in (
            ('a=b', Given('', '', 'a', 'b')),
            ('H1:a=b=c', Given('h1', '', 'a', 'b=c')),
            ('h1.example:p.a=', Given('h1.example', 'p', 'a', '')),
            ('p.a=x:y', Given('', 'p', 'a', 'x:y')),
        ):
            self.assertEqual(expected, policy_options.option(words), words)
        for words in ('', 'a', 'h1:a', '=b', 'h1:=b'):
            with self.assertRaises(refusals.ScenarioError, msg=words):
                policy_options.option(words)

    def test_given_beats_advertised_beats_default(self) -> None:
        one = member('h1', peer_list=('h1', 'h2'))
        for given, expected in (
            ((), ('h1', 'h2')),
            (('peer_list=h1,h3',), ('h1', 'h3')),
            (('h1:peer_list=h1', 'peer_list=h1,h3'), ('h1',)),
            (('h2:peer_list=h2',), ('h1', 'h2')),
            (('peer_list=',), ()),
        ):
            self.assertEqual(
                {'all': {}, 'peer_list': {'peer_list': expected}},
                read('all,peer_list', one, *given),
            )

    def test_values_are_canonical_as_those_of_a_service(self) -> None:
        for name, given, value in (
            ('conductor_group', 'partition_key=G1', 'g1'),
            ('shard_key', 'shard=Rack', 'Rack'),
        ):
            found = read(name, member('h'), given)
            self.assertEqual({name: {name: value}}, found)

    def test_what_could_not_start_is_refused(self) -> None:
        for words, given, said in (
            ('shard_key', (), 'h:shard_key=VALUE'),
            ('shard_key', ('shard_key=a/b',), 'shard_key=a/b'),
            ('peer_list', ('peer_list=other',), 'h could not run peer_list'),
        ):
            with self.assertRaisesRegex(exceptions.OwnershipError, said):
                read(words, member('h'), *given)

    def check(self, *given: str) -> None:
        policy_options.check_options(
            [policy_options.option(text) for text in given],
            policy_options.policies(
                'conductor_group,peer_list', lambda name: True
            ),
            {'h1'},
        )

    def test_unknown_options_are_told_their_neighbours(self) -> None:
        self.check('h1:peer_list=a', 'conductor_group.partition_key=g')
        for given, said in (
            ('peer_lits=a', 'mean peer_list'),
            ('h2:peer_list=a', 'mean h1'),
            ('all.peer_list=a', "policy 'all'"),
            # An option of a policy that is not in either list.
            ('shard_key=a', "option 'shard_key'"),
        ):
            with self.assertRaisesRegex(exceptions.NotFoundError, said):
                self.check(given)

    def test_policy_that_may_not_be_imported_is_refused(self) -> None:
        self.install('theirs')
        with self.assertRaisesRegex(
            refusals.ScenarioError, 'importable_policies'
        ):
            policy_options.policies('all,theirs', 'all'.__eq__)
        self.assertFalse(plugins.is_loaded(plugins.POLICIES, 'theirs'))
        policy_options.policies('all,theirs', lambda name: True)
