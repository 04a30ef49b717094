"""Directive that shows the OpenAPI document as a reference.

Usage: ``.. openapi-reference::``. It shows the document that the
service serves; tests compare it with the service.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ironic_ownership.web import routes


class OpenAPIReference(SphinxDirective):
    """All operations, each with its request and responses."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        """Return a section for each operation."""
        found: list[nodes.Node] = []
        built = routes.document()
        for path, operations in built['paths'].items():
            for method, operation in operations.items():
                found.append(self._section(method, path, operation))
        return found

    def _section(
        self, method: str, path: str, operation: dict[str, Any]
    ) -> nodes.section:
        section = nodes.section(ids=[f'api-{operation["operationId"]}'])
        section += nodes.title(text=f'{method.upper()} {path}')
        lines = StringList(list(_lines(operation)), source='openapi-reference')
        self.state.nested_parse(lines, 0, section)
        return section


def _lines(operation: dict[str, Any]) -> Iterator[str]:
    """Return the description of an operation, as reStructuredText."""
    yield _escaped(operation['summary'])
    yield ''
    if 'description' in operation:
        yield _escaped(operation['description'])
        yield ''
    parameters = [
        (f'``{one["name"]}`` ({one["in"]})', one['description'], one['schema'])
        for one in operation.get('parameters', ())
    ]
    if 'requestBody' in operation:
        if 'description' in _body(operation):
            text = _body(operation)['description'].rstrip('.')
            yield f'The body: {_escaped(text)}.'
            yield ''
        parameters += [
            (f'``{name}`` (body)', schema.get('description', ''), schema)
            for name, schema in _properties(_body(operation)).items()
        ]
    for name, text, schema in parameters:
        yield name
        yield f'    {_escaped(text)} {_kind(schema)}'.rstrip()
        yield ''
    yield '.. list-table::'
    yield '   :widths: 10 90'
    yield ''
    for status, answer in operation['responses'].items():
        yield f'   * - {status}'
        yield f'     - {_escaped(answer["description"])}'
    yield ''


def _body(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation['requestBody']['content']['application/json']
    schema: dict[str, Any] = content['schema']
    return schema


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a schema, and of its alternatives."""
    found: dict[str, Any] = dict(schema.get('properties', {}))
    for alternative in (*schema.get('anyOf', ()), *schema.get('oneOf', ())):
        for name, value in _properties(alternative).items():
            known = found.setdefault(name, value)
            if 'enum' in known and 'enum' in value:
                values = dict.fromkeys((*known['enum'], *value['enum']))
                found[name] = {**known, 'enum': [*values]}
    return found


def _kind(schema: dict[str, Any]) -> str:
    """Return the allowed values of a schema, if it lists them."""
    values = schema.get('enum') or schema.get('items', {}).get('enum')
    if values:
        texts = [v if isinstance(v, str) else json.dumps(v) for v in values]
        return f'One of {", ".join(f"``{text}``" for text in texts)}.'
    return ''


def _escaped(text: str) -> str:
    for character in '\\*`|_':
        text = text.replace(character, f'\\{character}')
    return text


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive('openapi-reference', OpenAPIReference)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
