from __future__ import annotations

import contextlib
import socketserver
import threading
from unittest import mock

from ironic_ownership import plugins, wiring
from ironic_ownership.conf.configuration import common_options
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.db import tables
from ironic_ownership.engine.changes.standing_orders import StandingOrders
from ironic_ownership.engine.host import process
from ironic_ownership.engine.host.enforcement import EnforcementProbe
from ironic_ownership.engine.host.tuning import Intervals
from ironic_ownership.settings import policy_building
from tests.unit import configurations, third_party
from tests.unit.clients import recorded_http
from tests.unit.db import sqlite
from tests.unit.engine import world

NO_AUTH = '[ironic]\nauth_type = none\nendpoint_override = {}\n'
NOWHERE = NO_AUTH.format('http://127.0.0.1:1')
HANGS = """
import time
from ironic_ownership import contracts

class Policy(contracts.FilterPolicy):
    contract_version = 1

    def __init__(self, settings):
        time.sleep(3600)
"""
NEEDS_EXTRA = """
from ironic_ownership import contracts

class Policy(contracts.FilterPolicy):
    contract_version = 1
    node_fields = ('extra',)
"""


class WiringCase(configurations.ConfiguredCase):
    def wire(self, text: str) -> wiring.Wiring:
        wired = wiring.Wiring(self.configure(text))
        self.addCleanup(wired.close)
        return wired


class TestInterpret(third_party.ThirdPartyCase, WiringCase):
    def test_settings_of_our_policies_are_read(self) -> None:
        for runs in (
            world.ALL,
            world.RING,
            world.runs(shard_key='a', conductor_group='g'),
            world.runs(conductor_group='', peer_list=('a', 'b')),
        ):
            read, expected = wiring.interpret(runs), world.interpret(runs)
            self.assertEqual(expected.scope, read.scope)
            self.assertIs(type(expected.assigner), type(read.assigner))
            self.assertEqual(len(expected.filters), len(read.filters))

    def test_what_cannot_be_built_here_cannot_be_read(self) -> None:
        self.install('theirs')
        self.install('asleep', 'import time; time.sleep(3600)')
        self.install('exits', 'raise SystemExit(0)')
        self.install('slow', HANGS)
        red, other = (
            model.MemberSettings(
                (model.PolicySettings.of('theirs', {'colour': colour}),)
            )
            for colour in ('red', 'ultraviolet')
        )
        self.assertIsNotNone(wiring.interpret(red))
        limit = mock.patch.object(policy_building, 'MEMBER_LIMIT', 0.05)
        self.enterContext(limit)
        self.enterContext(mock.patch.object(plugins, 'LOAD_LIMIT', 0.05))
        for runs in (
            world.UNKNOWN,
            world.NEWER,
            other,
            world.runs(asleep=None),
            world.runs(exits=None),
            *[world.runs(slow=None)] * 2,
            *(
                model.MemberSettings((model.PolicySettings.of(name, given),))
                for name, given in (
                    ('shard_key', {}),
                    ('conductor_group', {'group': 'g'}),
                    ('peer_list', {'peer_list': 'host1'}),
                    ('peer_list', {'peer_list': 5}),
                )
            ),
        ):
            self.assertIsNone(wiring.interpret(runs), runs)

    def test_policy_that_no_configuration_names_is_not_imported(self) -> None:
        for number, (lines, readable) in enumerate(
            (
                ('', False),
                ('policies = all', False),
                ('policies = {}', True),
                ('importable_policies = other, {}', True),
            )
        ):
            name = f'theirs{number}'
            self.install(name)
            wired = self.wire(f'[ownership]\n{lines.format(name)}')
            runs = world.runs(all=None, **{name: None})
            found = wired.interpret(runs)
            self.assertIs(readable, found is not None, lines)
            loaded = plugins.is_loaded(plugins.POLICIES, name)
            self.assertIs(readable, loaded, lines)
            # What is imported anyway can be read.
            wiring.interpret(runs)
            self.assertIsNotNone(wired.interpret(runs))


class TestIronic(third_party.ThirdPartyCase, WiringCase):
    def fields(self) -> set[str]:
        """Return the fields that a scan of this configuration requests."""
        ironic = recorded_http.PlayedIronic(1)
        self.addCleanup(ironic.stop)
        self.wire(NO_AUTH.format(ironic.url)).ironic.scan(model.Scope())
        _, query = ironic.requests[-1]
        return set(query['fields'][0].split(','))

    def test_field_is_requested_if_the_policy_of_a_member_needs_it(
        self,
    ) -> None:
        self.install('theirs', NEEDS_EXTRA)
        self.assertNotIn('extra', self.fields())
        # Not selected here: this process decides for all members.
        wiring.interpret(world.runs(theirs=None))
        self.assertIn('extra', self.fields())

    def test_outage_of_all_conductors_counts_unless_that_is_set(self) -> None:
        for line, counts in (
            ('', True),
            ('[ownership]\nwithout_conductors = schedulable\n', False),
        ):
            ironic = self.wire(line + NOWHERE).ironic
            self.assertIs(counts, ironic.outage_counts)


class TestHost(sqlite.SqliteCase, WiringCase):
    def build(
        self, name: str, more: str = ''
    ) -> tuple[process.Host, StandingOrders]:
        host = self.wire(
            f'[DEFAULT]\nhost = {name}\n[ownership]\npolicies = all\n'
            f'backend = memory\n{NOWHERE}'
            f'[database]\nconnection = {self.url}\n{more}'
        ).host()
        orders = host.workers[Loop.ORDERS]
        assert isinstance(orders, StandingOrders)
        return host, orders

    def test_longest_name_of_a_host_leaves_room_for_that_of_a_process(
        self,
    ) -> None:
        _, orders = self.build('h' * 255)
        longest = tables.outbox.c.sender.type.length
        self.assertLessEqual(len(orders.sender), longest)

    def test_loops_follow_a_reloaded_interval(self) -> None:
        self.assertNotIn(Loop.ENFORCEMENT, self.build('host1')[0].workers)
        key = '[enforcement]\nshared_key = ' + 'k' * 32
        host, orders = self.build('host1', key)
        probe = host.workers[Loop.ENFORCEMENT]
        assert isinstance(probe, EnforcementProbe)
        for one in (orders, probe):
            self.assertEqual(60.0, one.interval())
        host.change_intervals(Intervals(5, 1, 7, 30))
        for one in (orders, probe):
            self.assertEqual(7.0, one.interval())
            # It may wait for the end of a long one.
            self.assertTrue(one._wanted.is_set())


class TestListOpts(third_party.ThirdPartyCase):
    def test_options_of_core_plugins_and_clients_are_listed(self) -> None:
        self.install('theirs')
        self.install('broken', 'import no_such_module_at_all')
        listed = {
            (group, opt.dest): opt.help
            for group, opts in wiring.list_opts()
            for opt in opts
        }
        self.assertLessEqual(
            {
                ('DEFAULT', 'host'),
                ('ownership', 'policies'),
                ('membership', 'member_ttl'),
                ('database', 'connection'),
                ('ironic', 'shard_key'),
                ('ironic', 'peer_list'),
                ('ironic', 'conductor_group'),
                ('ironic', 'endpoint_override'),
                ('backend_db', 'connection'),
                ('policy_theirs', 'colour'),
            },
            {*listed},
        )
        self.assertEqual([], [key for key, text in listed.items() if not text])


class TestWiring(WiringCase):
    def test_nodes_are_not_reported_next_to_a_nova_cell(self) -> None:
        placement = (
            '[placement]\nauth_type = admin_token\ntoken = admin\n'
            'endpoint = http://127.0.0.1:1\nreport_inventory = true\n'
        )
        cell = (
            '[nova]\ncell_schema = n\n[database]\n'
            'connection = mysql+pymysql://u:p@127.0.0.1:1/x\n'
        )
        for more, reports in (('', True), (cell, False)):
            self.assertEqual(
                [reports] * 2,
                [
                    self.wire(placement + more).reports_inventory,
                    self.wire(placement + more).reports_status,
                ],
            )

    def test_lines_that_all_processes_need_are_advertised(self) -> None:
        for more, lines in (
            ('', ('[ownership] backend = db',)),
            (
                '[nova]\ncell_schema = n\n[membership]\nmember_ttl = 30\n',
                ('[ownership] backend = db', '[nova] cell_schema = n'),
            ),
        ):
            wired = self.wire(more)
            self.assertEqual(lines, common_options(wired.conf))
            advertised = wired.settings.tuning.advertised
            again = model.MemberSettings.from_json(advertised.to_json())
            assert again.process is not None
            self.assertEqual(advertised.process, again.process)
            self.assertEqual(lines, again.process.common)
            ttl = 30.0 if more else 20.0
            self.assertEqual(ttl / 3, again.permission_lifetime)

    def test_scope_is_that_of_the_configured_policies(self) -> None:
        wired = self.wire(
            '[ownership]\npolicies = shard_key, conductor_group\n'
            '[ironic]\nshard_key = R1\nconductor_group = Group'
        )
        self.assertEqual(
            model.Scope(shard='R1', conductor_group='group'), wired.scope
        )
        # It is known on a machine that is no peer.
        wired = self.wire(
            '[DEFAULT]\nhost = desk\n'
            '[ownership]\npolicies = conductor_group, peer_list\n'
            '[ironic]\nconductor_group = g\npeer_list = host1, host2'
        )
        self.assertEqual(model.Scope(conductor_group='g'), wired.scope)
        with self.assertRaises(exceptions.ConfigurationError):
            _ = wired.settings

    def test_cell_needs_the_server_of_the_cell(self) -> None:
        wired = self.wire(
            '[nova]\ncell_schema = nova\n'
            '[database]\nconnection = sqlite:////tmp/absent.sqlite'
        )
        for use in (lambda: wired.companion, lambda: wired.records):
            with self.assertRaises(exceptions.ConfigurationError) as caught:
                use()
            self.assertEqual(
                '[nova] cell_schema is set, and the records are in SQLite. '
                'Set [database] connection to the server of the cell',
                str(caught.exception),
            )

    def test_closing_ends_connections_to_ironic_and_placement(self) -> None:
        server = recorded_http.PlayedIronic()
        self.addCleanup(server.stop)
        handler = socketserver.StreamRequestHandler
        finish, ended = handler.finish, threading.Semaphore(0)
        end = mock.patch.object(
            handler, 'finish', lambda self: (finish(self), ended.release())
        )
        self.enterContext(end)
        wired = self.wire(
            f'{NO_AUTH.format(server.url)}[placement]\nauth_type = none\n'
            f'endpoint_override = {server.url}'
        )
        placement = wired.placement_of()
        assert placement is not None
        requests = [
            wired.ironic_of().check,
            lambda: placement.has_provider('x'),
        ]
        # The objects live on, as those of a host that was stopped.
        for request in requests:
            with contextlib.suppress(exceptions.PlacementError):
                request()
        wired.close()
        for _ in requests:
            self.assertTrue(ended.acquire(timeout=180))
        requests[0]()

    def test_closing_opens_nothing(self) -> None:
        wired = self.wire('[database]\nconnection = nonsense')
        wired.close()
        wired.close()
