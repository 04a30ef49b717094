"""Which commands there are: entry points that are loaded when they are run.

cliff's own way loads every command to run one.
"""

from __future__ import annotations

from cliff import commandmanager

from ironic_ownership import plugins

GROUP = 'ironic_ownership.cli'


class Registry(commandmanager.CommandManager):
    """The installed commands by name, ours and those of other packages."""

    def __init__(self) -> None:
        super().__init__(GROUP)

    def load_commands(self, namespace: str) -> None:
        """Note the commands of a group without importing any of them."""
        self.group_list.append(namespace)
        for entry_point in plugins.entry_points(namespace):
            self.commands[entry_point.name] = entry_point
