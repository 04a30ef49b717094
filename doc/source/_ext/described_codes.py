"""Directive that lists codes with the phrases that operators see.

Usage: ``.. described-codes:: CLASS``, the full name of a ``DescribedEnum``.
"""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class DescribedCodes(SphinxDirective):
    """The members of a ``DescribedEnum``, as a definition list."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """Return the list."""
        module, _, name = self.arguments[0].rpartition('.')
        return [
            nodes.definition_list(
                '',
                *(
                    nodes.definition_list_item(
                        '',
                        nodes.term('', '', nodes.literal(text=code.value)),
                        nodes.definition('', nodes.paragraph(text=code.help)),
                    )
                    for code in getattr(importlib.import_module(module), name)
                ),
            )
        ]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive('described-codes', DescribedCodes)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
