from __future__ import annotations

from ironic_ownership import plugins
from ironic_ownership.contracts import exceptions
from ironic_ownership.policies import shard_key
from tests.unit import third_party

ASSIGNER = """
from ironic_ownership.contracts import policy

class Policy(policy.{base}):
    {body}
"""


class TestOurs(third_party.ThirdPartyCase):
    def test_our_own_are_found_with_their_distribution(self) -> None:
        found = {p.name: p for p in plugins.installed(plugins.POLICIES)}
        self.assertLessEqual(
            {'all', 'conductor_group', 'shard_key', 'peer_list'}, set(found)
        )
        self.assertIs(shard_key.ShardKeyPolicy, found['shard_key'].target)
        self.assertIn('ironic-ownership ', found['shard_key'].distribution)
        self.assertEqual([], [p.error for p in found.values() if p.error])

    def test_backends_are_found_like_policies(self) -> None:
        names = {p.name for p in plugins.installed(plugins.BACKENDS)}
        self.assertLessEqual({'db', 'memory'}, names)
        self.assertEqual(
            'DatabaseBackend', plugins.backend_class('db').__name__
        )


class TestThirdParties(third_party.ThirdPartyCase):
    def refused(self, *names: str) -> str:
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            plugins.policies(names)
        self.assertEqual(len(names), len(caught.exception.faults))
        return str(caught.exception)

    def test_installed_policy_loads_like_our_own(self) -> None:
        dist = self.install('theirs')
        self.assertEqual(
            'Policy', plugins.policies(['theirs'])['theirs'].__name__
        )
        found = {p.name: p for p in plugins.installed(plugins.POLICIES)}
        self.assertEqual(dist, found['theirs'].distribution)

    def test_node_is_asked_for_what_an_installed_policy_needs(self) -> None:
        self.assertEqual(frozenset(), plugins.node_fields())
        self.install('broken', 'import no_such_module_at_all')
        self.install(
            'theirs',
            ASSIGNER.format(
                base='FilterPolicy',
                body='contract_version = 1; node_fields = ("extra",)',
            ),
        )
        self.assertEqual({'extra'}, plugins.node_fields())

    def test_missing_one_is_refused_and_those_installed_are_named(
        self,
    ) -> None:
        text = self.refused('nonsuch')
        for part in (plugins.POLICIES, "'nonsuch'", 'not installed', 'all'):
            self.assertIn(part, text)

    def test_one_that_cannot_be_imported_is_refused_with_the_cause(
        self,
    ) -> None:
        for source, cause in (
            ('import no_such_module_at_all', 'no_such_module_at_all'),
            ('raise SystemError("its own mistake")', 'its own mistake'),
            ('def f(:', 'SyntaxError'),
            ('', 'Policy'),
        ):
            with self.subTest(source=source):
                name = f'broken{len(cause)}'
                dist = self.install(name, source)
                text = self.refused(name)
                for part in (plugins.POLICIES, repr(name), dist, cause):
                    self.assertIn(part, text)

    def test_one_name_of_two_distributions_is_refused_and_both_named(
        self,
    ) -> None:
        one, two = self.install('theirs'), self.install('theirs')
        text = self.refused('theirs')
        for part in ('ambiguous', one, two):
            self.assertIn(part, text)

    def test_one_name_and_one_module_of_two_distributions_is_refused(
        self,
    ) -> None:
        one, two = (
            self.install('theirs', module='same_module') for _ in range(2)
        )
        text = self.refused('theirs')
        for part in ('ambiguous', one, two):
            self.assertIn(part, text)

    def test_name_of_one_of_ours_is_refused_for_both(self) -> None:
        dist = self.install('shard_key')
        text = self.refused('shard_key')
        self.assertIn(dist, text)
        self.assertIn('ironic-ownership', text)

    def test_one_distribution_on_the_path_twice_is_no_clash(self) -> None:
        for _ in range(2):
            self.install('theirs', distribution='twice', module='twice_module')
        plugins.policies(['theirs'])

    def test_one_for_another_contract_is_refused(self) -> None:
        self.install('newer', third_party.POLICY.format(version=2))
        self.assertIn('contract version 2', self.refused('newer'))

    def test_one_that_breaks_the_contract_is_refused_saying_how(self) -> None:
        for number, (source, cause) in enumerate(
            (
                ('class Policy: pass', 'no subclass'),
                ('Policy = 5', 'no subclass'),
                (
                    ASSIGNER.format(base='Policy', body='contract_version=1'),
                    'no subclass',
                ),
                (
                    ASSIGNER.format(base='FilterPolicy', body='pass'),
                    'contract_version',
                ),
                (
                    ASSIGNER.format(
                        base='FilterPolicy', body='contract_version = "1"'
                    ),
                    'contract_version',
                ),
                (
                    ASSIGNER.format(
                        base='AssignerPolicy', body='contract_version = 1'
                    ),
                    'assign',
                ),
                (
                    ASSIGNER.format(
                        base='FilterPolicy',
                        body='contract_version = 1; __len__ = lambda s: 0',
                    ),
                    '__len__',
                ),
                (
                    ASSIGNER.format(
                        base='FilterPolicy',
                        body='contract_version = 1; options = ["a"]',
                    ),
                    'options',
                ),
                (
                    'from ironic_ownership.contracts import options\n'
                    + ASSIGNER.format(
                        base='FilterPolicy',
                        body='contract_version = 1; options = tuple(\n'
                        '        options.Option(n, options.OptionType.FLOAT, '
                        '"H.", aliases=("b",)) for n in "ab")',
                    ),
                    'one name twice: b',
                ),
                (
                    ASSIGNER.format(
                        base='AssignerPolicy',
                        body='contract_version = 1; extra_movement = 2; '
                        'assign = lambda self, nodes, hosts: []',
                    ),
                    'extra_movement',
                ),
                (
                    ASSIGNER.format(
                        base='FilterPolicy, policy.AssignerPolicy',
                        body='contract_version = 1; assign = None',
                    ),
                    'no subclass',
                ),
                (
                    ASSIGNER.format(
                        base='FilterPolicy',
                        body='contract_version = 1; node_fields = ("owner",)',
                    ),
                    'node_fields',
                ),
                (
                    ASSIGNER.format(
                        base='FilterPolicy',
                        body='contract_version = 1; node_fields = "extra"',
                    ),
                    'node_fields',
                ),
            )
        ):
            with self.subTest(source=source):
                name = f'breaking{number}'
                self.install(name, source)
                text = self.refused(name)
                self.assertIn('breaks the plugin contract', text)
                self.assertIn(cause, text)

    def test_policy_is_no_backend(self) -> None:
        self.install('theirs', group=plugins.BACKENDS)
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            plugins.backend_class('theirs')
        self.assertIn('MembershipBackend', str(caught.exception))

    def test_several_faults_come_in_one_error(self) -> None:
        self.install('broken', 'import no_such_module_at_all')
        text = self.refused('nonsuch', 'broken')
        self.assertIn('not installed', text)
        self.assertIn('no_such_module_at_all', text)

    def test_broken_one_that_is_not_selected_is_listed_and_harmless(
        self,
    ) -> None:
        self.install('broken', 'import no_such_module_at_all')
        found = {p.name: p for p in plugins.installed(plugins.POLICIES)}
        self.assertIsNone(found['broken'].target)
        self.assertIn('cannot be loaded', str(found['broken'].error))
        plugins.policies(['all'])
