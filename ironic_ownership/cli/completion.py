"""``complete``: the words that a shell completes."""

from __future__ import annotations

import argparse
import collections

from cliff import complete


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
        following = collections.defaultdict[str, list[str]](list)
        options: dict[str, list[str]] = {}
        for name in sorted(name for name, _ in self.app.command_manager):
            words = name.split()
            for number, word in enumerate(words):
                known = following['_'.join(words[:number])]
                if word not in known:
                    known.append(word)
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
            (key, ' '.join((*following.get(key, ()), *options.get(key, ()))))
            for key in sorted({*following, *options})
        ]
        shell.write(' '.join(first), data)
        return 0
