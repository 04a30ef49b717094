"""Directive that shows a file as ``plugin new`` writes it.

Usage: ``.. plugin-template:: KIND NAME PATH``. The documentation shows the
same files that the tests run.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ironic_ownership_plugin_kit.templates import package

_LANGUAGES = {'.py': 'python', '.rst': 'rst', '.toml': 'toml'}


class PluginTemplate(SphinxDirective):
    """One file of a package, as a literal block."""

    required_arguments: ClassVar[int] = 3

    def run(self) -> list[nodes.Node]:
        """Return the block."""
        kind, name, path = self.arguments
        files = package.Package(package.Kind(kind), name).files()
        if path not in files:
            raise self.error(f'no such file: {path}. There are: {[*files]}')
        suffix = path[path.rindex('.') :]
        text = files[path].rstrip('\n')
        return [
            nodes.literal_block(
                text, text, language=_LANGUAGES.get(suffix, 'none')
            )
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive('plugin-template', PluginTemplate)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
