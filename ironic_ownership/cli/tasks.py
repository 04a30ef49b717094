"""Help and completion: the list of all commands, by task."""

from __future__ import annotations

import argparse
import collections
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cliff import complete
from cliff import help as cliff_help

TASKS: Mapping[str, tuple[str, ...]] = {
    'Look': (
        'overview',
        'check',
        'compute node list',
        'compute node show',
        'compute node explain',
        'compute node check-action',
        'service list',
        'service show',
        'member list',
        'event list',
    ),
    'Preview changes': (
        'ring show',
        'ring preview',
        'policy compare',
        'node validate',
        'shard plan',
    ),
    'Change owners': (
        'compute node move',
        'compute node release',
        'move list',
        'move show',
        'move resume',
        'compute node import',
    ),
    'Maintain services': (
        'service set',
        'service drain',
        'service failover',
        'service delete',
        'pause',
        'pause list',
        'resume',
    ),
    'Clean up deleted nodes': (
        'compute node check-delete',
        'compute node delete',
        'instance forget',
    ),
    'Reservations': (
        'reservation create',
        'reservation list',
        'reservation show',
        'reservation confirm',
        'reservation delete',
    ),
    'Nova': ('nova check', 'nova adopt', 'nova return'),
    'Plugins': (
        'policy list',
        'policy show',
        'backend list',
        'backend show',
        'plugin new',
        'plugin check',
    ),
}
_OTHERS = 'Other'


def by_task(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Return the installed commands by task, in the order of the help."""
    left = set(names)
    found = {
        task: [name for name in of_task if name in left]
        for task, of_task in TASKS.items()
    }
    found[_OTHERS] = sorted(left.difference(*TASKS.values()))
    return {task: of_task for task, of_task in found.items() if of_task}


class Help(cliff_help.HelpCommand):
    """Show the help of one command, or all commands by task."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Show the help."""
        if parsed_args.cmd:
            return super().take_action(parsed_args)
        show(self.app)
        return 0


def show(app: Any) -> None:
    """Write the help of the program to its standard output."""
    app.parser.print_help(app.stdout)
    app.stdout.writelines(f'{line}\n' for line in _lines(app))
    # An error at the end of the process would be ignored.
    app.stdout.flush()


def _lines(app: Any) -> Iterator[str]:
    entry_points = dict(app.command_manager)
    width = max(map(len, entry_points))
    for task, names in by_task(entry_points).items():
        yield from ('', f'{task}:')
        for name in names:
            yield f'  {name:<{width}}  {_summary(app, entry_points[name])}'


def _summary(app: Any, entry_point: Any) -> str:
    try:
        text = str(entry_point.load()(app, None).get_description())
    except Exception as exc:  # noqa: BLE001 - another package's command
        return f'cannot be loaded: {exc}'
    return next(itertools.chain(text.splitlines(), [''])).rstrip('.')


class Complete(complete.CompleteCommand):
    """Print a script that completes commands and options in bash."""

    def get_epilog(self) -> str:
        """Return an example."""
        name = self.app.NAME
        return (
            f'examples:\n  {name} complete > /etc/bash_completion.d/{name}\n'
        )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        """Write the script.

        A command may begin with the words of another one. For that one
        cliff's own would offer the name of a variable.
        """
        following = collections.defaultdict[str, dict[str, None]](dict)
        options: dict[str, list[str]] = {}
        for name in sorted(name for name, _ in self.app.command_manager):
            words = name.split()
            for number, word in enumerate(words):
                following['_'.join(words[:number])][word] = None
            options['_'.join(words)] = [
                text
                for action in self.get_actions(words)
                for text in action.option_strings
            ]
        first = following.pop('')
        shell = self._formatters[parsed_args.shell].plugin(
            parsed_args.name or self.app.NAME, self.app.stdout
        )
        # A word before the options: the script takes the words of a command
        # without one for file names.
        data = [
            (key, ' '.join((*following.get(key, {}), *options.get(key, ()))))
            for key in sorted({*following, *options})
        ]
        shell.write(' '.join(first), data)
        return 0
