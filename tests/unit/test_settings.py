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


class SettingsCase(configurations.ConfiguredCase):
    """Lines of the configuration are written as ``group.name = value``."""

    def read(self, *lines: str) -> settings.Settings:
        pairs = (line.split('.', 1) for line in lines)
        text = '\n'.join(f'[{group}]\n{line}' for group, line in pairs)
        return settings.read(self.configure(text))

    def advertised(self, *lines: str) -> model.MemberSettings:
        return self.read(*lines).tuning.advertised

    def names(self, *lines: str) -> list[str]:
        return [one.name for one in self.advertised(*lines).policies]

    def faults(self, *lines: str) -> tuple[str, ...]:
        with self.assertRaises(
            exceptions.ConfigurationError, msg=lines
        ) as caught:
            self.read(*lines)
        return caught.exception.faults

    def assert_fault(self, parts: str, *lines: str) -> None:
        """Check that there is one fault, and its parts between "..."."""
        (fault,) = self.faults(*lines)
        for part in parts.split('...'):
            self.assertIn(part, fault)
        self.assertNotIn('\n', fault)


ALL = 'ownership.policies = all'
SHARD = 'ownership.policies = shard_key'
GROUP = 'ownership.policies = conductor_group'
PEERS = 'ownership.policies = peer_list'
BOTH = 'ownership.policies = conductor_group, peer_list'
BEAT = 'membership.heartbeat_interval = '
TTL = 'membership.member_ttl = '


class TestGood(SettingsCase):
    def test_nothing_set_is_every_node_under_the_name_of_the_machine(
        self,
    ) -> None:
        read = self.read()
        self.assertEqual(['all'], self.names())
        self.assertEqual(model.canonical_host(read.host), read.host)
        self.assertEqual(
            (5, 20), (read.tuning.intervals.heartbeat, read.member_ttl)
        )

    def test_host_is_known_in_lower_case(self) -> None:
        self.assertEqual('host1', self.read('DEFAULT.host = HoSt1').host)

    def test_names_in_another_case_are_remarked_on(self) -> None:
        peers = 'ironic.peer_list = host1, Host2, host3'
        read = self.read('DEFAULT.host = HOST1', PEERS, peers)
        for remark, name in zip(read.remarks, ('HOST1', 'Host2'), strict=True):
            self.assertIn(name, remark)
            self.assertIn(f'is {name.lower()}', remark)

    def test_backend_without_other_machines_is_remarked_on(self) -> None:
        (remark,) = self.read(
            'DEFAULT.host = a', 'ownership.backend = memory'
        ).remarks
        self.assertIn('[ownership] backend = memory: ', remark)
        self.assertEqual((), self.read('DEFAULT.host = a').remarks)

    def test_same_meaning_is_advertised_alike(self) -> None:
        group = 'ironic.conductor_group = '
        one, *others = (
            self.advertised(f'DEFAULT.host = {host}', *lines)
            for host, *lines in (
                ('a', BOTH, f'{group}Rack', 'ironic.peer_list = A,b'),
                (
                    *('B', BOTH, 'ironic.partition_key = rACK'),
                    'ironic.peer_list = b , a',
                ),
                ('a', f'{group}rack', 'ironic.peer_list = a,b'),
            )
        )
        self.assertEqual([one, one], others)

    def test_shard_is_accepted_under_the_name_that_nova_uses(self) -> None:
        for policy, line, found in (
            (SHARD, 'shard_key = R1', ('shard_key', 'R1')),
            (SHARD, 'shard = R1', ('shard_key', 'R1')),
            # An empty group is a group.
            (GROUP, 'conductor_group =', ('conductor_group', '')),
        ):
            (one,) = self.advertised(policy, f'ironic.{line}').policies
            self.assertEqual((found,), one.options)

    def test_members_are_polled_in_proportion_to_their_ttl(self) -> None:
        for expected, *lines in (
            (1.0, f'{BEAT}5', f'{TTL}20'),
            (1.0, f'{BEAT}5', f'{TTL}600'),
            (0.2, f'{BEAT}1', f'{TTL}4'),
            (0.1, f'{BEAT}0.5', f'{TTL}1.5'),
            (7, 'membership.watch_interval = 7'),
        ):
            read = self.read('membership.fence_margin = 0.3', *lines)
            self.assertAlmostEqual(expected, read.tuning.intervals.watch)

    def test_db_backend_follows_the_records(self) -> None:
        conf = self.configure('[database]\nconnection = sqlite:////x.db')
        target, values = configuration.backend(conf, conf.ownership.backend)
        self.assertEqual('DatabaseBackend', target.__name__)
        self.assertEqual('sqlite:////x.db', values['connection'])
        both = '[database]\nconnection_parameters = timeout=7\n'
        for text, expected in (
            (both, 'timeout=7'),
            (both + '[backend_db]\nconnection = sqlite:////y.db', None),
        ):
            conf = self.configure(text)
            _, values = configuration.backend(conf, 'db')
            self.assertEqual(expected, values.get('connection_parameters'))


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
            said = f"[ironic]...add '{policy}' to [ownership] policies"
            self.assert_fault(said, ALL, f'ironic.{line}')

    def test_policies_that_are_left_out_follow_from_the_options(self) -> None:
        for names, *lines in (
            (['all'],),
            (['all'], 'ironic.peer_list ='),
            (['shard_key'], 'ironic.shard_key = a'),
            (['shard_key'], 'ironic.shard = a'),
            (['conductor_group'], 'ironic.conductor_group ='),
            (['conductor_group'], 'ironic.partition_key = g'),
            (['peer_list'], 'ironic.peer_list = a'),
            (
                ['shard_key', 'conductor_group', 'peer_list'],
                *('ironic.peer_list = a', 'ironic.conductor_group = g'),
                'ironic.shard_key = s',
            ),
            (
                ['shard_key', 'reservation'],
                *('ironic.shard_key = s', 'policy_reservation.expiry = 9'),
            ),
        ):
            self.assertEqual(names, self.names('DEFAULT.host = a', *lines))


class TestImpliedPolicies(unittest.TestCase):
    def test_order_is_one_for_all_services(self) -> None:
        names = ('shard_key', 'conductor_group', 'peer_list', 'a', 'b')
        for given in itertools.permutations(names):
            self.assertEqual(names, settings.implied(given))


FAULTS: tuple[tuple[str, ...], ...] = (
    # parts of the one fault, lines of the configuration
    ('add "shard_key = ..." to [ironic]', SHARD),
    ('add "conductor_group = ..." to [ironic]', GROUP),
    *(
        ('[ironic] shard_key', SHARD, f'ironic.shard_key = {value}')
        for value in ('', 'a b', 'a,b', 'ä', 'a*', 'x' * 256)
    ),
    *(
        (
            '[ironic] conductor_group',
            GROUP,
            f'ironic.conductor_group = {value}',
        )
        for value in ('a b', 'a|b', '$', 'x' * 256)
    ),
    (
        "'host1'...host2, host3",
        *('DEFAULT.host = host1', PEERS, 'ironic.peer_list = host2, host3'),
    ),
    ('is empty', 'ownership.policies ='),
    ('more than once', 'ownership.policies = all,all'),
    ('[ownership] refresh_interval: ', 'ownership.refresh_interval = soon'),
    ('[ownership] refresh_interval: ', 'ownership.refresh_interval = 0'),
    ('[ownership] mass_loss_share: ', 'ownership.mass_loss_share = 1.5'),
    ('[ownership] mass_loss_minimum: ', 'ownership.mass_loss_minimum = -1'),
    ('[membership] heartbeat_interval: ', f'{BEAT}0'),
    ('[membership] fence_margin: ', 'membership.fence_margin = much'),
    # With them, neither a fence nor a wait would end.
    ('[membership] fence_margin: ', 'membership.fence_margin = nan'),
    ('[membership] member_ttl: ', f'{TTL}1e400'),
    ('[ownership] mass_loss_share: ', 'ownership.mass_loss_share = nan'),
    ('[ownership] refresh_interval: ', 'ownership.refresh_interval = inf'),
    # Of which no thread can wait for the end.
    ('[ownership] refresh_interval: ', 'ownership.refresh_interval = 1e10'),
    ('[membership] watch_interval: ', 'membership.watch_interval = 1e10'),
    ('[DEFAULT] host is empty', 'DEFAULT.host ='),
    ('[DEFAULT] host: a $ is', 'DEFAULT.host = a$b'),
    *(
        ('[DEFAULT] host', f'DEFAULT.host = {host}')
        for host in ('a b', 'x' * 256, 'a\x07b', 'a/b', '.', '..')
    ),
    # Less than three heartbeats, or no time to act.
    ('member_ttl = 14.9...set it to 15 or more', f'{BEAT}5', f'{TTL}14.9'),
    ('set it to less than 15', f'{BEAT}5', 'membership.fence_margin = 15'),
    *(
        (
            (
                f"'{name}' is reached by the backend tooz..."
                f'set backend = tooz...backend_url = {url}...[backend_tooz]'
            ),
            f'ownership.backend = {name}',
        )
        for name, url in (
            ('etcd', 'etcd3+http://'),
            ('zookeeper', 'kazoo://'),
            ('redis', 'redis://'),
        )
    ),
    ("'nonsuch'...db, memory", 'ownership.backend = nonsuch'),
    ('[enforcement] shared_key', f'enforcement.shared_key = {"k" * 31}'),
)


class TestFaults(SettingsCase):
    def test_each_fault_is_one_line_that_names_it(self) -> None:
        for parts, *lines in FAULTS:
            with self.subTest(lines):
                self.assert_fault(parts, *lines)
                self.assertNotIn('k' * 31, self.faults(*lines)[0])
        self.read(f'{BEAT}5', 'membership.fence_margin = 14.9')
        self.read(f'enforcement.shared_key = {"k" * 32}')

    def test_all_faults_come_at_once(self) -> None:
        faults = self.faults(
            *('DEFAULT.host =', 'ownership.policies = shard_key, nonsuch'),
            *('ownership.backend = other', 'ironic.shard_key = a b'),
            *('ironic.peer_list = a', f'{BEAT}9'),
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


def option(name: str, kind: str = 'STRING') -> str:
    return policy_of(
        f'options = (options.Option({name!r}, '
        f'getattr(options.OptionType, {kind!r}, "nonsense"), "Odd.", '
        'group="ironic"),)'
    )


HANGS = 'import time; time.sleep(3600)'
SLOW = policy_of('__init__ = lambda s, settings: time.sleep(3600)')
BROKEN = (
    # name of the plugin, its source, part of the fault
    ('mute', policy_of('settings = lambda s: 1 / 0'), 'ZeroDivisionError'),
    ('hangs', HANGS, 'has not ended'),
    ('slow', SLOW, 'not built'),
    # Registered later, by the client.
    ('one', option('page_size'), 'page_size'),
    ('two', option('shard_key', 'FLOAT'), 'shard_key'),
    ('three', option('endpoint_override', 'BOOLEAN'), 'endpoint_override'),
    ('four', option('size', 'NONSENSE'), 'four'),
    ('five', option(''), 'five'),
    ('six', option('a b'), 'six'),
)


class TestThirdParties(SettingsCase, third_party.ThirdPartyCase):
    def test_second_assigner_is_refused(self) -> None:
        assign = 'assign = lambda s, nodes, hosts: []'
        self.install('lottery', policy_of(assign, 'AssignerPolicy'))
        self.assert_fault(
            'more than one assigner: peer_list, lottery', f'{PEERS}, lottery'
        )

    def test_options_of_a_policy_are_in_a_group_of_its_own(self) -> None:
        dist = self.install('theirs')
        theirs, colour = 'ownership.policies = theirs', 'policy_theirs.colour'
        red = f'{colour} = red'
        found = self.advertised(theirs, red, 'policy_theirs.size = 3')
        self.assertEqual(
            (('colour', 'red'), ('size', 3)), found.policies[0].options
        )
        self.assertEqual(1, found.contract_version)
        # Without a list of policies, they select it.
        names = self.names(red, 'ironic.shard = s')
        self.assertEqual(['shard_key', 'theirs'], names)
        self.assert_fault(
            f"'theirs'...{dist}...no such colour",
            *(theirs, f'{colour} = ultraviolet'),
        )

    def test_fault_of_a_plugin_names_its_distribution(self) -> None:
        self.enterContext(mock.patch.object(plugins, 'LOAD_LIMIT', 0.05))
        limit = mock.patch.object(policy_building, 'BUILD_LIMIT', 0.05)
        self.enterContext(limit)
        for name, source, part in BROKEN:
            with self.subTest(name):
                dist = self.install(name, source)
                for _ in range(2):
                    self.assert_fault(
                        f'{name!r}...{dist}...{part}',
                        f'ownership.policies = {name}',
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
            "'rival'...third-party-...shard_key", 'ownership.backend = rival'
        )

    def test_policy_that_is_not_selected_is_not_imported(self) -> None:
        for name, source in (
            ('exits', 'raise SystemExit(0)'),
            ('hangs', HANGS),
            ('collides', option('page_size')),
            ('invalid', option('a b')),
        ):
            self.install(name, source, module=f'their_{name}')
        self.read()
        self.assertEqual(
            [], [name for name in sys.modules if name.startswith('their_')]
        )
        self.assert_fault(
            "[policy_exits] colour is set...add 'exits' to [ownership] polici",
            *(ALL, 'policy_exits.colour = red'),
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

    def test_values_of_the_service_are_advertised_apart(self) -> None:
        both = f'{ALL}, two'
        one = self.advertised(both)
        other = self.advertised(both, 'policy_two.weight = 5')
        self.assertEqual(one.shared, other.shared)
        self.assertEqual({'weight': 5}, other.own_values)
        self.assertEqual(2, other.contract_version)
        self.assertEqual(
            [('all', ()), ('two', (('zones', None),))],
            [(p.name, p.options) for p in other.policies],
        )
        # The objection of the plugin names the option.
        self.assert_fault(
            '[policy_two] weight: -1 is not positive',
            *(both, 'policy_two.weight = -1'),
        )
        # A map has no order.
        one, other = (
            self.advertised(both, f'policy_two.zones = {zones}')
            for zones in ('host2:b, host1:a', 'host1:a,host2:b')
        )
        self.assertEqual(one, other)
        zones = dict(one.policies[1].options)['zones']
        self.assertEqual({'host1': 'a', 'host2': 'b'}, options.as_map(zones))
