"""Directive that documents all commands, by task as in the help.

Usage: ``.. commands-by-task::``. cliff's directive documents each command.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ironic_ownership.cli import app as cli
from ironic_ownership.cli import tasks

_NOT_HERE = ('complete', 'help')


class CommandsByTask(SphinxDirective):
    """A section for each task, with its commands."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        names = [name for name, _ in cli.registry()]
        return [
            self._section(task, of_task)
            for task, of_task in tasks.by_task(names).items()
            if of_task[0] not in _NOT_HERE
        ]

    def _section(self, task: str, names: list[str]) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(f'task-{task}')])
        section += nodes.title(text=task)
        lines = [
            line
            for name in names
            for line in (
                '.. autoprogram-cliff:: ironic_ownership.cli',
                f'   :command: {name}',
                '   :application: ironic-ownership',
                '',
            )
        ]
        source = StringList(lines, source='commands-by-task')
        self.state.nested_parse(source, 0, section)
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive('commands-by-task', CommandsByTask)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
