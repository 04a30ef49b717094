"""``openstack baremetal ownership``: the same commands, and nothing more."""

import argparse
import importlib.metadata
import signal
import subprocess
import sys

from ironic_ownership.contracts import extras
from ironic_ownership.contracts.calls import is_interrupt
from ironic_ownership.osc import commands, plugin
from tests.unit import third_party

_GROUP = f'openstack.{plugin.API_NAME}.v{plugin.DEFAULT_API_VERSION}'
_PREFIX = 'baremetal_ownership_'
_LOAD_ALL = f"""
import importlib.metadata, sys
import ironic_ownership.osc.plugin
for entry_point in importlib.metadata.entry_points(group={_GROUP!r}):
    entry_point.load()
print(*sorted(name for name in sys.modules if name in {{
    'oslo_config', 'sqlalchemy', 'openstack', 'keystoneauth1',
    'ironic_ownership.cli', 'ironic_ownership.wiring',
}}))
"""


def _own(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """Return the entry points of our packages; others may bring more."""
    return {
        entry_point.name: entry_point
        for name in ('ironic-ownership', extras.KIT, extras.NOVA)
        for entry_point in importlib.metadata.distribution(
            name
        ).entry_points.select(group=group)
    }


class CommandsTest(third_party.ThirdPartyCase):
    def test_the_two_lists_of_commands_are_one(self) -> None:
        theirs = _own(_GROUP)
        for name, entry in _own(commands.COMMANDS).items():
            there = theirs.pop(_PREFIX + name.replace(' ', '_'))
            self.assertEqual(
                f'{commands.__name__}:{commands.name_of(name)}', there.value
            )
            kind, made = entry.load(), there.load()(None, None)
            self.assertIsInstance(made, kind)
            self.assertIsInstance(made, commands.UnderOpenStack)
            self.assertEqual(
                kind(None, None).get_description(), made.get_description()
            )
        self.assertEqual({}, theirs)
        # Examples name the program that is asked.
        epilog = commands.service_list(None, None).get_epilog()
        self.assertIn('  openstack baremetal ownership service list', epilog)
        self.assertNotIn('ironic-ownership service', epilog)

    def test_command_of_another_package_has_a_name_as_well(self) -> None:
        self.install(
            'aisle list',
            'from cliff import command\n'
            'class Aisles(command.Command):\n'
            '    """List aisles."""\n'
            '    def take_action(self, parsed_args): ...\n',
            group=commands.COMMANDS,
            target='Aisles',
        )
        made = commands.aisle_list(None, None)
        self.assertIsInstance(made, commands.UnderOpenStack)
        self.assertEqual('List aisles.', made.get_description())

    def test_commands_are_loaded_without_what_they_need_to_run(self) -> None:
        # The client loads them all at every start, for any command.
        command = [sys.executable, '-c', _LOAD_ALL]
        printed = subprocess.check_output(command, text=True, timeout=120)
        self.assertEqual('\n', printed)


class Interrupted(commands.UnderOpenStack):
    """Evaluates an interrupt where a plugin would be called."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        try:
            self.raising()
        except KeyboardInterrupt as exc:
            self.is_interrupt = is_interrupt(exc)


class InterruptTest(third_party.ThirdPartyCase):
    def raise_interrupt(self) -> None:
        raise KeyboardInterrupt

    def test_interrupt_of_a_plugin_is_not_that_of_the_operator(self) -> None:
        """Under the handler of Python; one of the client is kept."""

        def handler(*_: object) -> None:
            """Do nothing."""

        before = signal.getsignal(signal.SIGINT)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        for there, raising, expected in (
            (
                signal.default_int_handler,
                lambda: signal.raise_signal(signal.SIGINT),
                True,
            ),
            (signal.default_int_handler, self.raise_interrupt, False),
            (handler, self.raise_interrupt, True),
        ):
            signal.signal(signal.SIGINT, there)
            made = Interrupted(None, None)
            made.raising = raising
            self.assertEqual(0, made.run(argparse.Namespace()))
            self.assertEqual(expected, made.is_interrupt)
            self.assertIs(there, signal.getsignal(signal.SIGINT))
