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


def policies(*lines: str) -> str:
    """Return a configuration of these policies, the first of the lines."""
    return '\n'.join((f'[ownership]\npolicies = {lines[0]}', *lines[1:]))


class SettingsCase(configurations.ConfiguredCase):
    def read(self, text: str) -> settings.Settings:
        return settings.read(self.configure(text))

    def advertised(self, text: str) -> model.MemberSettings:
        return self.read(text).tuning.advertised

    def faults(self, text: str) -> tuple[str, ...]:
        with self.assertRaises(
            exceptions.ConfigurationError, msg=text
        ) as caught:
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
        for remark, name in zip(read.remarks, ('HOST1', 'Host2'), strict=True):
            self.assertIn(name, remark)
            self.assertIn(f'is {name.lower()}', remark)

    def test_same_meaning_is_advertised_alike(self) -> None:
        both = 'conductor_group, peer_list'
        one, *others = (
            self.advertised(f'[DEFAULT]\nhost = {host}\n{text}')
            for host, text in (
                (
                    'a',
                    policies(
                        *(both, '[ironic]', 'conductor_group = Rack'),
                        'peer_list = A,b',
                    ),
                ),
                (
                    'B',
                    policies(
                        *(both, '[ironic]', 'partition_key = rACK'),
                        'peer_list = b , a',
                    ),
                ),
                ('a', '[ironic]\nconductor_group = rack\npeer_list = a,b'),
            )
        )
        self.assertEqual([one, one], others)

    def test_shard_is_accepted_under_the_name_that_nova_uses(self) -> None:
        for name, option, value in (
            ('shard_key', 'shard_key = R1', 'R1'),
            ('shard_key', 'shard = R1', 'R1'),
            # An empty group is a group.
            ('conductor_group', 'conductor_group =', ''),
        ):
            (found,) = self.advertised(
                policies(name, '[ironic]', option)
            ).policies
            self.assertEqual(((name, value),), found.options)

    def test_members_are_polled_in_proportion_to_their_ttl(self) -> None:
        for lines, expected in (
            ('heartbeat_interval = 5\nmember_ttl = 20', 1.0),
            ('heartbeat_interval = 5\nmember_ttl = 600', 1.0),
            ('heartbeat_interval = 1\nmember_ttl = 4', 0.2),
            ('heartbeat_interval = 0.5\nmember_ttl = 1.5', 0.1),
            ('watch_interval = 7', 7),
        ):
            read = self.read(f'[membership]\nfence_margin = 0.3\n{lines}')
            self.assertAlmostEqual(expected, read.tuning.intervals.watch)

    def test_db_backend_follows_the_records(self) -> None:
        conf = self.configure('[database]\nconnection = sqlite:////x.db')
        target, values = configuration.backend(conf, conf.ownership.backend)
        self.assertEqual('DatabaseBackend', target.__name__)
        self.assertEqual({'connection': 'sqlite:////x.db'}, values)


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
                policies('all', '[ironic]', line),
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
            found = self.advertised(f'[DEFAULT]\nhost = a\n[ironic]\n{lines}')
            self.assertEqual(names, [p.name for p in found.policies], lines)


class TestImpliedPolicies(unittest.TestCase):
    def test_order_is_one_for_all_services(self) -> None:
        names = ('shard_key', 'conductor_group', 'peer_list', 'a', 'b')
        for given in itertools.permutations(names):
            self.assertEqual(names, settings.implied(given))


FAULTS: tuple[tuple[str, ...], ...] = (
    # text of the file, parts of the one fault
    *(
        (policies(name), f'add "{name} = ..." to [ironic]')
        for name in ('shard_key', 'conductor_group')
    ),
    *(
        (
            policies('shard_key', '[ironic]', f'shard_key = {shard}'),
            'shard_key',
        )
        for shard in ('', 'a b', 'a,b', 'ä', 'a*', 'x' * 256)
    ),
    *(
        (
            policies(
                'conductor_group', '[ironic]', f'conductor_group = {group}'
            ),
            '[ironic] conductor_group',
        )
        for group in ('a b', 'a|b', '$', 'x' * 256)
    ),
    (
        policies(
            *('peer_list', '[DEFAULT]', 'host = host1', '[ironic]'),
            'peer_list = host2, host3',
        ),
        "'host1'",
        'host2, host3',
    ),
    (policies(''), 'is empty'),
    (policies('all,all'), 'more than once'),
    *(
        (f'[{group}]\n{line}', f'[{group}] {line.partition(" ")[0]}: ')
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
        )
    ),
    ('[DEFAULT]\nhost =', '[DEFAULT] host is empty'),
    *(
        (f'[DEFAULT]\nhost = {host}', '[DEFAULT] host')
        for host in ('a b', 'x' * 256, 'a\x07b', 'a/b', '.', '..')
    ),
    # Less than three heartbeats, or no time to act.
    (
        '[membership]\nheartbeat_interval = 5\nmember_ttl = 14.9',
        'member_ttl = 14.9',
        'set it to 15 or more',
    ),
    (
        '[membership]\nheartbeat_interval = 5\nfence_margin = 15',
        'set it to less than 15',
    ),
    *(
        (
            f'[ownership]\nbackend = {name}',
            f"'{name}' is reached by the backend tooz",
            'set backend = tooz',
            f'backend_url = {url}',
            '[backend_tooz]',
        )
        for name, url in (
            ('etcd', 'etcd3+http://'),
            ('zookeeper', 'kazoo://'),
            ('redis', 'redis://'),
        )
    ),
    ('[ownership]\nbackend = nonsuch', "'nonsuch'", 'db, memory'),
    (f'[enforcement]\nshared_key = {"k" * 31}', '[enforcement] shared_key'),
)


class TestFaults(SettingsCase):
    def test_each_fault_is_one_line_that_names_it(self) -> None:
        for text, *parts in FAULTS:
            with self.subTest(text):
                self.assert_fault(text, *parts)
                self.assertNotIn('k' * 31, self.faults(text)[0])
        self.read('[membership]\nheartbeat_interval = 5\nfence_margin = 14.9')
        self.read(f'[enforcement]\nshared_key = {"k" * 32}')

    def test_all_faults_come_at_once(self) -> None:
        faults = self.faults(
            '[DEFAULT]\nhost =\n'
            '[ownership]\npolicies = shard_key, nonsuch\nbackend = other\n'
            '[ironic]\nshard_key = a b\npeer_list = a\n'
            '[membership]\nheartbeat_interval = 9\n'
        )
        self.assertEqual(6, len(faults), faults)


def policy_of(body: str, base: str = 'FilterPolicy') -> str:
    """Return the source of a policy of contract version 1."""
    return (
        'import time\n'
        'from ironic_ownership.contracts import options, policy\n'
        f'class Policy(policy.{base}):\n'
        '    contract_version = 1\n'
        f'    {body}\n'
    )


def option(name: str, kind: str = 'options.OptionType.STRING') -> str:
    return policy_of(
        f'options = (options.Option({name!r}, {kind}, "Odd.", '
        'group="ironic"),)'
    )


HANGS = 'import time; time.sleep(3600)'
EXITS = 'raise SystemExit(0)'
BROKEN = (
    # name of the plugin, its source, parts of the fault
    ('mute', policy_of('settings = lambda s: 1 / 0'), 'ZeroDivisionError'),
    ('hangs', HANGS, 'has not ended'),
    (
        'slow',
        policy_of('__init__ = lambda s, settings: time.sleep(3600)'),
        'not built',
    ),
    # Registered later, by the client.
    ('one', option('page_size'), 'page_size'),
    ('two', option('shard_key', 'options.OptionType.FLOAT'), 'shard_key'),
    (
        *('three', option('endpoint_override', 'options.OptionType.BOOLEAN')),
        'endpoint_override',
    ),
    ('four', option('size', '"nonsense"'), 'four'),
    ('five', option(''), 'five'),
    ('six', option('a b'), 'six'),
)


class TestThirdParties(SettingsCase, third_party.ThirdPartyCase):
    def test_second_assigner_is_refused(self) -> None:
        source = policy_of(
            'assign = lambda s, nodes, hosts: []', 'AssignerPolicy'
        )
        self.install('lottery', source)
        self.assert_fault(
            policies('peer_list, lottery'),
            'more than one assigner: peer_list, lottery',
        )

    def test_options_of_a_policy_are_in_a_group_of_its_own(self) -> None:
        dist = self.install('theirs')
        red = '[policy_theirs]\ncolour = red'
        found = self.advertised(policies('theirs', red, 'size = 3'))
        self.assertEqual(
            (('colour', 'red'), ('size', 3)), found.policies[0].options
        )
        self.assertEqual(1, found.contract_version)
        # Without a list of policies, they select it.
        found = self.advertised(f'{red}\n[ironic]\nshard = s')
        self.assertEqual(
            ['shard_key', 'theirs'], [p.name for p in found.policies]
        )
        self.assert_fault(
            policies('theirs', '[policy_theirs]\ncolour = ultraviolet'),
            "'theirs'",
            dist,
            'no such colour',
        )

    def test_fault_of_a_plugin_names_its_distribution(self) -> None:
        self.enterContext(mock.patch.object(plugins, 'LOAD_LIMIT', 0.05))
        limit = mock.patch.object(policy_building, 'BUILD_LIMIT', 0.05)
        self.enterContext(limit)
        for name, source, *parts in BROKEN:
            with self.subTest(name):
                dist = self.install(name, source)
                for _ in range(2):
                    self.assert_fault(policies(name), repr(name), dist, *parts)

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
        text = '[ownership]\nbackend = rival'
        self.assert_fault(text, "'rival'", 'third-party-', 'shard_key')

    def test_policy_that_is_not_selected_is_not_imported(self) -> None:
        for name, source in (
            ('exits', EXITS),
            ('hangs', HANGS),
            ('collides', option('page_size')),
            ('invalid', option('a b')),
        ):
            self.install(name, source, module=f'their_{name}')
        self.read('[policy_exits]\n# colour = red')
        self.assertEqual(
            [], [name for name in sys.modules if name.startswith('their_')]
        )
        self.assert_fault(
            policies('all', '[policy_exits]\ncolour = red'),
            '[policy_exits] colour is set',
            "add 'exits' to [ownership] policies",
        )


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

    def of_two(self, text: str) -> model.MemberSettings:
        return self.advertised(policies('all, two', f'[policy_two]\n{text}'))

    def test_values_of_the_service_are_advertised_apart(self) -> None:
        one, other = self.of_two(''), self.of_two('weight = 5')
        self.assertEqual(one.shared, other.shared)
        self.assertEqual({'weight': 5}, other.own_values)
        self.assertEqual(2, other.contract_version)
        self.assertEqual(
            [('all', ()), ('two', (('zones', None),))],
            [(p.name, p.options) for p in other.policies],
        )
        # The objection of the plugin names the option.
        self.assert_fault(
            policies('two', '[policy_two]\nweight = -1'),
            '[policy_two] weight: -1 is not positive',
        )

    def test_map_has_no_order(self) -> None:
        one = self.of_two('zones = host2:b, host1:a')
        self.assertEqual(one, self.of_two('zones = host1:a,host2:b'))
        zones = dict(one.policies[1].options)['zones']
        self.assertEqual({'host1': 'a', 'host2': 'b'}, options.as_map(zones))
