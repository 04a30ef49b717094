"""``openstack baremetal ownership``: the same commands, and nothing more."""

import argparse
import importlib.metadata
import signal
import subprocess
import sys

from cliff import command

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


class Interrupted(commands.UnderOpenStack):
    """Evaluates an interrupt where a plugin would be called."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        try:
            self.raising()
        except KeyboardInterrupt as exc:
            self.is_interrupt = is_interrupt(exc)


class CommandsTest(third_party.ThirdPartyCase):
    def setUp(self) -> None:
        super().setUp()
        self.ours = _own(commands.COMMANDS)
        self.theirs = _own(_GROUP)

    def test_the_two_lists_of_commands_are_one(self) -> None:
        module = commands.__name__
        self.assertEqual(
            {
                _PREFIX + name.replace(' ', '_'): (
                    f'{module}:{commands.name_of(name)}'
                )
                for name in self.ours
            },
            {name: entry.value for name, entry in self.theirs.items()},
        )

    def test_each_name_stands_for_the_command_of_that_name(self) -> None:
        for name, ours in self.ours.items():
            theirs = self.theirs[_PREFIX + name.replace(' ', '_')].load()
            made = theirs(None, None)
            self.assertIsInstance(made, ours.load())
            self.assertIsInstance(made, commands.UnderOpenStack)
            self.assertEqual(
                ours.load()(None, None).get_description(),
                made.get_description(),
            )

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
        done = subprocess.run(
            [sys.executable, '-c', _LOAD_ALL],
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.assertEqual((0, '\n'), (done.returncode, done.stdout), done)

    def test_interrupt_of_a_plugin_is_not_that_of_the_operator(self) -> None:
        """The client has Python's handler of SIGINT, before and after."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        for raising, expected in (
            (lambda: signal.raise_signal(signal.SIGINT), True),
            (self.raise_interrupt, False),
        ):
            made = Interrupted(None, None)
            made.raising = raising
            self.assertEqual(0, made.run(argparse.Namespace()))
            self.assertEqual(expected, made.is_interrupt)
            self.assertIs(
                signal.default_int_handler, signal.getsignal(signal.SIGINT)
            )

    def raise_interrupt(self) -> None:
        raise KeyboardInterrupt

    def test_handler_of_the_client_is_kept(self) -> None:
        def handler(*_: object) -> None:
            """Do nothing."""

        before = signal.signal(signal.SIGINT, handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        made = Interrupted(None, None)
        made.raising = self.raise_interrupt
        made.run(argparse.Namespace())
        self.assertTrue(made.is_interrupt)
        self.assertIs(handler, signal.getsignal(signal.SIGINT))

    def test_examples_name_the_program_that_is_asked(self) -> None:
        made = commands.service_list(None, None)
        self.assertIsInstance(made, command.Command)
        epilog = made.get_epilog()
        self.assertIn('  openstack baremetal ownership service list', epilog)
        self.assertNotIn('ironic-ownership service', epilog)
