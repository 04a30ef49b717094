from __future__ import annotations

import itertools
import sys
import unittest
from unittest import mock

from ironic_ownership import plugins, settings
from ironic_ownership.conf import configuration
from ironic_ownership.contracts import exceptions, model, options
from ironic_ownership.settings import policy_building
from tests.unit import configurations, third_party

ODD_OPTION = """
from ironic_ownership.contracts import options, policy

class Policy(policy.FilterPolicy):
    contract_version = 1
    options = (
        options.Option(
            {name!r}, options.OptionType.{type}, 'Odd.', group='ironic'
        ),
    )
"""


class SettingsCase(configurations.ConfiguredCase):
    def read(self, text: str) -> settings.Settings:
        return settings.read(self.configure(text))

    def faults(self, text: str) -> tuple[str, ...]:
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            self.read(text)
        return caught.exception.faults

    def assert_fault(self, text: str, *parts: str) -> None:
        """Check that there is one fault, and what it says."""
        (fault,) = self.faults(text)
        for part in parts:
            self.assertIn(part, fault)
        self.assertNotIn('\n', fault)


class TestGood(SettingsCase):
    def test_nothing_set_is_every_node_under_the_name_of_the_machine(
        self,
    ) -> None:
        read = self.read('')
        self.assertEqual(
            ['all'], [p.name for p in read.tuning.advertised.policies]
        )
        self.assertEqual(model.canonical_host(read.host), read.host)
        self.assertEqual(
            (5, 20), (read.tuning.intervals.heartbeat, read.member_ttl)
        )

    def test_host_is_known_in_lower_case(self) -> None:
        self.assertEqual('host1', self.read('[DEFAULT]\nhost = HoSt1').host)

    def test_names_in_another_case_are_remarked_on(self) -> None:
        read = self.read(
            '[DEFAULT]\nhost = HOST1\n[ownership]\npolicies = peer_list\n'
            '[ironic]\npeer_list = host1, Host2, host3'
        )
        self.assertEqual(2, len(read.remarks))
        for remark, name in zip(read.remarks, ('HOST1', 'Host2'), strict=True):
            self.assertIn(name, remark)
            self.assertIn(f'is {name.lower()}', remark)

    def test_same_meaning_is_advertised_alike(self) -> None:
        one = self.read(
            '[DEFAULT]\nhost = a\n'
            '[ownership]\npolicies = conductor_group, peer_list\n'
            '[ironic]\nconductor_group = Rack\npeer_list = A,b'
        )
        other = self.read(
            '[DEFAULT]\nhost = B\n'
            '[ownership]\npolicies = conductor_group,peer_list\n'
            '[ironic]\npartition_key = rACK\npeer_list = b , a'
        )
        self.assertEqual(one.tuning.advertised, other.tuning.advertised)

    def test_shard_is_accepted_under_the_name_that_nova_uses(self) -> None:
        for name in ('shard_key', 'shard'):
            read = self.read(
                f'[ownership]\npolicies = shard_key\n[ironic]\n{name} = R1'
            )
            self.assertEqual(
                (('shard_key', 'R1'),),
                read.tuning.advertised.policies[0].options,
            )

    def test_empty_group_is_a_group(self) -> None:
        read = self.read(
            '[ownership]\npolicies = conductor_group\n'
            '[ironic]\nconductor_group ='
        )
        self.assertEqual(
            (('conductor_group', ''),),
            read.tuning.advertised.policies[0].options,
        )

    def test_members_are_polled_in_proportion_to_their_ttl(self) -> None:
        for ttl, beat, expected in (
            (20, 5, 1.0),
            (600, 5, 1.0),
            (4, 1, 0.2),
            (1.5, 0.5, 0.1),
        ):
            read = self.read(
                f'[membership]\nheartbeat_interval = {beat}\n'
                f'member_ttl = {ttl}\nfence_margin = 0.3'
            )
            self.assertAlmostEqual(expected, read.tuning.intervals.watch)
        set_here = self.read('[membership]\nwatch_interval = 7')
        self.assertEqual(7, set_here.tuning.intervals.watch)


class TestPolicies(SettingsCase):
    def test_option_of_a_policy_that_is_not_selected_says_what_to_add(
        self,
    ) -> None:
        for line, policy in (
            ('shard_key = a', 'shard_key'),
            ('shard = a', 'shard_key'),
            ('conductor_group =', 'conductor_group'),
            ('partition_key = g', 'conductor_group'),
            ('peer_list = a,b', 'peer_list'),
        ):
            self.assert_fault(
                f'[ownership]\npolicies = all\n[ironic]\n{line}',
                '[ironic]',
                f"add '{policy}' to [ownership] policies",
            )

    def test_policies_that_are_left_out_follow_from_the_options(self) -> None:
        for lines, names in (
            ('', ['all']),
            ('peer_list =', ['all']),
            ('shard_key = a', ['shard_key']),
            ('shard = a', ['shard_key']),
            ('conductor_group =', ['conductor_group']),
            ('partition_key = g', ['conductor_group']),
            ('peer_list = a', ['peer_list']),
            (
                'peer_list = a\nconductor_group = g\nshard_key = s',
                ['shard_key', 'conductor_group', 'peer_list'],
            ),
            (
                'shard_key = s\n[policy_reservation]\nexpiry = 9',
                ['shard_key', 'reservation'],
            ),
        ):
            read = self.read(f'[DEFAULT]\nhost = a\n[ironic]\n{lines}')
            advertised = read.tuning.advertised.policies
            self.assertEqual(names, [p.name for p in advertised], lines)

    def test_derived_policies_are_the_same_peers_as_named_ones(self) -> None:
        options = '[ironic]\nconductor_group = g\npeer_list = a,b'
        named = '[ownership]\npolicies = conductor_group, peer_list\n'
        self.assertEqual(
            self.read(
                f'[DEFAULT]\nhost = a\n{named}{options}'
            ).tuning.advertised,
            self.read(f'[DEFAULT]\nhost = a\n{options}').tuning.advertised,
        )

    def test_policy_without_its_option_says_which_line_to_add(self) -> None:
        for policy in ('shard_key', 'conductor_group'):
            self.assert_fault(
                f'[ownership]\npolicies = {policy}',
                f'add "{policy} = ..." to [ironic]',
            )

    def test_empty_or_malformed_shard_is_refused(self) -> None:
        for shard in ('', 'a b', 'a,b', 'ä', 'a*', 'x' * 256):
            self.assert_fault(
                '[ownership]\npolicies = shard_key\n'
                f'[ironic]\nshard_key = {shard}',
                '[ironic] shard_key',
            )

    def test_malformed_group_is_refused(self) -> None:
        for group in ('a b', 'a|b', '$', 'x' * 256):
            self.assert_fault(
                '[ownership]\npolicies = conductor_group\n'
                f'[ironic]\nconductor_group = {group}',
                '[ironic] conductor_group',
            )

    def test_list_without_this_host_is_refused(self) -> None:
        self.assert_fault(
            '[DEFAULT]\nhost = host1\n[ownership]\npolicies = peer_list\n'
            '[ironic]\npeer_list = host2, host3',
            "'host1'",
            'host2, host3',
        )

    def test_no_policy_or_one_twice_is_refused(self) -> None:
        self.assert_fault('[ownership]\npolicies =', 'is empty')
        self.assert_fault('[ownership]\npolicies = all,all', 'more than once')


class TestImpliedPolicies(unittest.TestCase):
    def test_order_is_one_for_all_services(self) -> None:
        names = ('shard_key', 'conductor_group', 'peer_list', 'a', 'b')
        for given in itertools.permutations(names):
            self.assertEqual(names, settings.implied(given))


class TestThirdParties(SettingsCase, third_party.ThirdPartyCase):
    def test_second_assigner_is_refused(self) -> None:
        self.install(
            'lottery',
            'from ironic_ownership.contracts import policy\n'
            'class Policy(policy.AssignerPolicy):\n'
            '    contract_version = 1\n'
            '    def assign(self, nodes, hosts): ...\n',
        )
        self.assert_fault(
            '[ownership]\npolicies = peer_list, lottery',
            'more than one assigner: peer_list, lottery',
        )

    def test_options_of_a_policy_are_in_a_group_of_its_own(self) -> None:
        self.install('theirs')
        read = self.read(
            '[ownership]\npolicies = theirs\n'
            '[policy_theirs]\ncolour = red\nsize = 3'
        )
        self.assertEqual(
            (('colour', 'red'), ('size', 3)),
            read.tuning.advertised.policies[0].options,
        )

    def test_policy_that_fails_to_start_is_refused_by_name(self) -> None:
        dist = self.install('theirs')
        self.assert_fault(
            '[ownership]\npolicies = theirs\n'
            '[policy_theirs]\ncolour = ultraviolet',
            "'theirs'",
            dist,
            'no such colour',
        )

    def test_policy_that_cannot_say_its_settings_is_refused(self) -> None:
        dist = self.install(
            'mute',
            'from ironic_ownership.contracts import policy\n'
            'class Policy(policy.FilterPolicy):\n'
            '    contract_version = 1\n'
            '    def settings(self): raise LookupError("no words")\n',
        )
        self.assert_fault(
            '[ownership]\npolicies = mute', "'mute'", dist, 'no words'
        )

    def test_backend_whose_option_is_taken_is_a_fault(self) -> None:
        self.install(
            'rival',
            'from ironic_ownership.backends import memory\n'
            'from ironic_ownership.contracts import options\n'
            'class Backend(memory.MemoryBackend):\n'
            '    options = (options.Option("shard_key", '
            'options.OptionType.FLOAT, "Taken.", group="ironic"),)\n',
            group=plugins.BACKENDS,
            target='Backend',
        )
        self.assert_fault(
            '[ownership]\nbackend = rival',
            "'rival'",
            'third-party-',
            'shard_key',
        )

    def test_policy_that_is_not_selected_is_not_imported(self) -> None:
        for name, source in (
            ('exits', 'raise SystemExit(0)'),
            ('hangs', 'import time; time.sleep(3600)'),
            ('collides', ODD_OPTION.format(name='page_size', type='STRING')),
            ('invalid', ODD_OPTION.format(name='a b', type='FLOAT')),
        ):
            self.install(name, source, module=f'their_{name}')
        self.read('')
        self.assertEqual(
            [], [name for name in sys.modules if name.startswith('their_')]
        )

    def test_option_of_such_a_policy_says_what_to_add(self) -> None:
        self.install('theirs', 'raise SystemExit(0)')
        self.read('[policy_theirs]\n# colour = red')
        self.assert_fault(
            '[ownership]\npolicies = all\n[policy_theirs]\ncolour = red',
            '[policy_theirs] colour is set',
            "add 'theirs' to [ownership] policies",
        )

    def test_option_of_such_a_policy_selects_it_without_a_list(self) -> None:
        self.install('theirs')
        read = self.read('[policy_theirs]\ncolour = red\n[ironic]\nshard = s')
        self.assertEqual(
            ['shard_key', 'theirs'],
            [p.name for p in read.tuning.advertised.policies],
        )

    def test_option_with_the_name_of_ours_is_a_fault_of_the_plugin(
        self,
    ) -> None:
        for name, option, kind in (
            ('one', 'page_size', 'STRING'),  # registered later, by the client
            ('two', 'shard_key', 'FLOAT'),
            ('three', 'endpoint_override', 'BOOLEAN'),
        ):
            dist = self.install(
                name, ODD_OPTION.format(name=option, type=kind)
            )
            self.assert_fault(
                f'[ownership]\npolicies = {name}', repr(name), dist, option
            )

    def test_invalid_option_is_a_fault_of_the_plugin(self) -> None:
        for number, (name, kind) in enumerate(
            (('size', 'NONSENSE'), ('', 'STRING'), ('a b', 'STRING'))
        ):
            plugin = f'odd{number}'
            source = ODD_OPTION.format(name=name, type='STRING')
            if kind == 'NONSENSE':
                source = source.replace(
                    'options.OptionType.STRING', '"nonsense"'
                )
            dist = self.install(plugin, source)
            self.assert_fault(
                f'[ownership]\npolicies = {plugin}', repr(plugin), dist
            )

    def test_import_that_hangs_is_a_fault_of_the_plugin(self) -> None:
        dist = self.install('hangs', 'import time; time.sleep(3600)')
        with mock.patch.object(plugins, 'LOAD_LIMIT', 0.05):
            for _ in range(2):
                self.assert_fault(
                    '[ownership]\npolicies = hangs', 'has not ended', dist
                )

    def test_constructor_that_hangs_is_a_fault_of_the_plugin(self) -> None:
        dist = self.install(
            'hangs',
            'import time\n'
            'from ironic_ownership.contracts import policy\n'
            'class Policy(policy.FilterPolicy):\n'
            '    contract_version = 1\n'
            '    def __init__(self, settings): time.sleep(3600)\n',
        )
        with mock.patch.object(policy_building, 'BUILD_LIMIT', 0.05):
            self.assert_fault(
                '[ownership]\npolicies = hangs', 'not built', dist
            )


class TestCoreOptions(SettingsCase):
    def test_value_of_a_wrong_type_or_out_of_bounds_is_named(self) -> None:
        for group, line in (
            ('ownership', 'refresh_interval = soon'),
            ('ownership', 'refresh_interval = 0'),
            ('ownership', 'mass_loss_share = 1.5'),
            ('ownership', 'mass_loss_minimum = -1'),
            ('membership', 'heartbeat_interval = 0'),
            ('membership', 'fence_margin = much'),
            # With them, neither a fence nor a wait would end.
            ('membership', 'fence_margin = nan'),
            ('membership', 'member_ttl = 1e400'),
            ('ownership', 'mass_loss_share = nan'),
            ('ownership', 'refresh_interval = inf'),
        ):
            name = line.partition(' ')[0]
            self.assert_fault(f'[{group}]\n{line}', f'[{group}] {name}: ')

    def test_host_without_a_name_is_refused(self) -> None:
        self.assert_fault('[DEFAULT]\nhost =', '[DEFAULT] host is empty')
        for host in ('a b', 'x' * 256, 'a\x07b', 'a/b', '.', '..'):
            self.assert_fault(f'[DEFAULT]\nhost = {host}', '[DEFAULT] host')

    def test_ttl_of_less_than_three_heartbeats_is_refused(self) -> None:
        self.assert_fault(
            '[membership]\nheartbeat_interval = 5\nmember_ttl = 14.9',
            'member_ttl = 14.9',
            'set it to 15 or more',
        )

    def test_margin_that_leaves_no_time_to_act_is_refused(self) -> None:
        text = (
            '[membership]\nheartbeat_interval = 5\nmember_ttl = 20\n'
            'fence_margin = {}'
        )
        self.assert_fault(text.format(15), 'set it to less than 15')
        self.read(text.format(14.9))

    def test_name_of_a_server_leads_to_the_backend_for_it(self) -> None:
        for name, url in (
            ('etcd', 'etcd3+http://'),
            ('zookeeper', 'kazoo://'),
            ('redis', 'redis://'),
        ):
            self.assert_fault(
                f'[ownership]\nbackend = {name}',
                f"'{name}' is reached by the backend tooz",
                'set backend = tooz',
                f'backend_url = {url}',
                '[backend_tooz]',
            )

    def test_shared_key_that_is_short_is_refused_and_not_shown(self) -> None:
        text = '[enforcement]\nshared_key = {}'
        key = 'k' * 31
        self.assert_fault(text.format(key), '[enforcement] shared_key')
        self.assertNotIn(key, self.faults(text.format(key))[0])
        self.read(text.format(key + 'k'))

    def test_backend_that_is_not_installed_is_named(self) -> None:
        self.assert_fault(
            '[ownership]\nbackend = nonsuch', "'nonsuch'", 'db, memory'
        )

    def test_all_faults_come_at_once(self) -> None:
        faults = self.faults(
            '[DEFAULT]\nhost =\n'
            '[ownership]\npolicies = shard_key, nonsuch\nbackend = other\n'
            '[ironic]\nshard_key = a b\npeer_list = a\n'
            '[membership]\nheartbeat_interval = 9\n'
        )
        self.assertEqual(6, len(faults), faults)


class TestBackend(SettingsCase):
    def test_db_backend_follows_the_records(self) -> None:
        conf = self.configure('[database]\nconnection = sqlite:////x.db')
        target, values = configuration.backend(conf, conf.ownership.backend)
        self.assertEqual('DatabaseBackend', target.__name__)
        self.assertEqual({'connection': 'sqlite:////x.db'}, values)


VERSION_TWO = """
from ironic_ownership import contracts

def _positive(value):
    return None if value > 0 else f'{value} is not positive'

class Policy(contracts.AssignerPolicy):
    contract_version = 2
    options = (
        contracts.Option(
            'weight', contracts.OptionType.INTEGER, 'Weight.', default=1,
            per_member=True, check=_positive,
        ),
        contracts.Option('zones', contracts.OptionType.MAP, 'Zones.'),
    )

    def assign(self, nodes, hosts):
        return [hosts[0] for _ in nodes]
"""


class TestContractTwo(SettingsCase, third_party.ThirdPartyCase):
    def setUp(self) -> None:
        super().setUp()
        self.install('two', VERSION_TWO)

    def advertised(self, text: str) -> model.MemberSettings:
        read = self.read(
            f'[ownership]\npolicies = all, two\n[policy_two]\n{text}'
        )
        return read.tuning.advertised

    def test_values_of_the_service_are_advertised_apart(self) -> None:
        one, other = self.advertised(''), self.advertised('weight = 5')
        self.assertEqual(one.shared, other.shared)
        self.assertEqual({'weight': 5}, other.own_values)
        self.assertEqual(2, other.contract_version)
        self.assertEqual(
            [('all', ()), ('two', (('zones', None),))],
            [(p.name, p.options) for p in other.policies],
        )

    def test_map_has_no_order(self) -> None:
        one = self.advertised('zones = host2:b, host1:a')
        other = self.advertised('zones = host1:a,host2:b')
        self.assertEqual(one, other)
        zones = dict(one.policies[1].options)['zones']
        self.assertEqual({'host1': 'a', 'host2': 'b'}, options.as_map(zones))

    def test_objection_of_the_plugin_names_the_option(self) -> None:
        self.assert_fault(
            '[ownership]\npolicies = two\n[policy_two]\nweight = -1',
            '[policy_two] weight: -1 is not positive',
        )

    def test_version_one_is_what_older_releases_read(self) -> None:
        self.install('theirs')
        read = self.read('[ownership]\npolicies = theirs')
        self.assertEqual(1, read.tuning.advertised.contract_version)
