from __future__ import annotations

import contextlib
import tempfile
import threading
from unittest import mock

from ironic_ownership import plugins, wiring
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.db import tables
from ironic_ownership.engine.changes.standing_orders import StandingOrders
from ironic_ownership.engine.host import process
from ironic_ownership.engine.host.tuning import Intervals
from ironic_ownership.settings import policy_building
from tests.unit import configurations, third_party
from tests.unit.clients import recorded_http
from tests.unit.engine import world


class TestInterpret(third_party.ThirdPartyCase, configurations.ConfiguredCase):
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

    def test_policy_that_is_not_installed_cannot_be_read(self) -> None:
        self.assertIsNone(wiring.interpret(world.UNKNOWN))

    def test_newer_contract_cannot_be_read(self) -> None:
        self.assertIsNone(wiring.interpret(world.NEWER))

    def test_options_that_make_no_sense_cannot_be_read(self) -> None:
        for name, options in (
            ('shard_key', {}),
            ('conductor_group', {'group': 'g'}),
            ('peer_list', {'peer_list': 'host1'}),
            ('peer_list', {'peer_list': 5}),
        ):
            advertised = model.MemberSettings(
                (model.PolicySettings.of(name, options),)
            )
            self.assertIsNone(wiring.interpret(advertised), options)

    def test_options_on_which_a_policy_fails_cannot_be_read(self) -> None:
        self.install('theirs')
        for colour, readable in (('red', True), ('ultraviolet', False)):
            advertised = model.MemberSettings(
                (model.PolicySettings.of('theirs', {'colour': colour}),)
            )
            self.assertIs(readable, wiring.interpret(advertised) is not None)

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
            text = f'[ownership]\n{lines.format(name)}'
            wired = wiring.Wiring(self.configure(text))
            runs = world.runs(all=None, **{name: None})
            found = wired.interpret(runs)
            self.assertIs(readable, found is not None, lines)
            loaded = plugins.is_loaded(plugins.POLICIES, name)
            self.assertIs(readable, loaded, lines)
            # What is imported anyway can be read.
            wiring.interpret(runs)
            self.assertIsNotNone(wired.interpret(runs))

    def test_import_that_hangs_or_exits_cannot_be_read(self) -> None:
        for number, line in enumerate(
            ('import time; time.sleep(3600)', 'raise SystemExit(0)')
        ):
            self.install(f'bad{number}', line)
            with mock.patch.object(plugins, 'LOAD_LIMIT', 0.05):
                runs = world.runs(**{f'bad{number}': None})
                self.assertIsNone(wiring.interpret(runs))

    def test_constructor_that_hangs_cannot_be_read(self) -> None:
        self.install('slow', HANGS)
        with mock.patch.object(policy_building, 'MEMBER_LIMIT', 0.05):
            for _ in range(2):
                self.assertIsNone(wiring.interpret(world.runs(slow=None)))


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


class TestIronic(third_party.ThirdPartyCase, configurations.ConfiguredCase):
    def fields(self) -> set[str]:
        """Return the fields that a scan of this configuration requests."""
        ironic = recorded_http.PlayedIronic(1)
        self.addCleanup(ironic.stop)
        conf = self.configure(
            f'[ironic]\nauth_type = none\nendpoint_override = {ironic.url}'
        )
        wiring.Wiring(conf).ironic.scan(model.Scope())
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
            ('[ownership]\nwithout_conductors = schedulable', False),
        ):
            conf = self.configure(
                f'{line}\n[ironic]\nauth_type = none\n'
                'endpoint_override = http://127.0.0.1:1'
            )
            ironic = wiring.Wiring(conf).ironic
            self.assertIs(counts, ironic.outage_counts)


class TestHost(configurations.ConfiguredCase):
    def build(self, name: str = 'host1') -> process.Host:
        directory = self.enterContext(tempfile.TemporaryDirectory())
        wired = wiring.Wiring(
            self.configure(
                f'[DEFAULT]\nhost = {name}\n[ownership]\npolicies = all\n'
                'backend = memory\n[ironic]\nauth_type = none\n'
                'endpoint_override = http://127.0.0.1:1\n'
                f'[database]\nconnection = sqlite:///{directory}/records.sqlite'
            )
        )
        self.addCleanup(wired.close)
        return wired.host()

    def test_longest_name_of_a_host_leaves_room_for_that_of_a_process(
        self,
    ) -> None:
        orders = self.build('h' * 255).workers[Loop.ORDERS]
        assert isinstance(orders, StandingOrders)
        longest = tables.outbox.c.sender.type.length
        self.assertLessEqual(len(orders.sender), longest)

    def test_standing_orders_follow_a_reloaded_interval(self) -> None:
        host = self.build()
        orders = host.workers[Loop.ORDERS]
        assert isinstance(orders, StandingOrders)
        self.assertEqual(60.0, orders.interval())
        host.change_intervals(Intervals(5, 1, 7, 30))
        self.assertEqual(7.0, orders.interval())
        # It may wait for the end of a long one.
        self.assertTrue(orders._wanted.is_set())


_CELL = """
[nova]
cell_schema = n
[database]
connection = mysql+pymysql://u:p@127.0.0.1:1/x
"""


class TestReports(configurations.ConfiguredCase):
    def test_nodes_are_not_reported_next_to_a_nova_cell(self) -> None:
        placement = (
            '[placement]\nauth_type = admin_token\ntoken = admin\n'
            'endpoint = http://127.0.0.1:1\nreport_inventory = true\n'
        )
        for more, reports in (('', True), (_CELL, False)):
            conf = self.configure(placement + more)
            found = wiring.Wiring(conf).reports_inventory
            self.assertIs(reports, found, more)
            self.assertIs(reports, wiring.Wiring(conf).reports_status)


class TestListOpts(third_party.ThirdPartyCase):
    def listed(self) -> set[tuple[str, str]]:
        return {
            (group, opt.dest)
            for group, opts in wiring.list_opts()
            for opt in opts
        }

    def test_options_of_core_plugins_and_clients_are_listed(self) -> None:
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
            },
            self.listed(),
        )

    def test_options_of_an_installed_third_party_are_listed(self) -> None:
        self.install('theirs')
        self.install('broken', 'import no_such_module_at_all')
        self.assertIn(('policy_theirs', 'colour'), self.listed())

    def test_every_option_has_help(self) -> None:
        mute = [
            (group, opt.name)
            for group, opts in wiring.list_opts()
            for opt in opts
            if not opt.help
        ]
        self.assertEqual([], mute)


class TestWiring(configurations.ConfiguredCase):
    def test_scope_is_that_of_the_configured_policies(self) -> None:
        wired = wiring.Wiring(
            self.configure(
                '[ownership]\npolicies = shard_key, conductor_group\n'
                '[ironic]\nshard_key = R1\nconductor_group = Group'
            )
        )
        self.addCleanup(wired.close)
        self.assertEqual(
            model.Scope(shard='R1', conductor_group='group'), wired.scope
        )

    def test_scope_is_known_on_a_machine_that_is_no_peer(self) -> None:
        wired = wiring.Wiring(
            self.configure(
                '[DEFAULT]\nhost = desk\n'
                '[ownership]\npolicies = conductor_group, peer_list\n'
                '[ironic]\nconductor_group = g\npeer_list = host1, host2'
            )
        )
        self.assertEqual(model.Scope(conductor_group='g'), wired.scope)
        with self.assertRaises(exceptions.ConfigurationError):
            _ = wired.settings

    def test_cell_needs_the_server_of_the_cell(self) -> None:
        wired = wiring.Wiring(
            self.configure(
                '[nova]\ncell_schema = nova\n'
                '[database]\nconnection = sqlite:////tmp/absent.sqlite'
            )
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
        handler = server._server.RequestHandlerClass
        finish, ended = handler.finish, threading.Semaphore(0)
        handler.finish = lambda self: (finish(self), ended.release())
        wired = wiring.Wiring(
            self.configure(
                '[ironic]\nauth_type = none\nendpoint_override = '
                f'{server.url}\n[placement]\nauth_type = none\n'
                f'endpoint_override = {server.url}'
            )
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
        wired = wiring.Wiring(
            self.configure('[database]\nconnection = nonsense')
        )
        wired.close()
        wired.close()
