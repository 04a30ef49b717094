"""The OpenAPI document says what there is."""

from __future__ import annotations

import json
import re

import jsonschema

from ironic_ownership.web import errors, routes
from tests.unit.web import app_case


class DocumentTest(app_case.SiteCase):
    def setUp(self) -> None:
        super().setUp()
        self.document = self.get('/openapi.json')

    def test_every_parameter_of_a_path_is_described(self) -> None:
        for path, operations in self.document['paths'].items():
            for operation in operations.values():
                named = {
                    parameter['name']
                    for parameter in operation.get('parameters', ())
                    if parameter['in'] == 'path'
                }
                self.assertEqual(set(re.findall('{(.*?)}', path)), named)

    def test_every_schema_is_one(self) -> None:
        for one in routes.OPERATIONS:
            schemas = [p.schema for p in (*one.parameters, *one.query)]
            schemas += [s for _, s in one.answers.values() if s is not None]
            schemas += [one.body] if one.body is not None else []
            for schema in (*schemas, errors.SCHEMA):
                jsonschema.Draft202012Validator.check_schema(schema)

    def test_every_pattern_is_of_the_whole_text(self) -> None:
        patterns = set(
            re.findall(r'"pattern": "(.*?)"', json.dumps(self.document))
        )
        self.assertLess(5, len(patterns))
        for pattern in patterns:
            self.assertRegex(pattern, r'^\^.*\$$')


class UnknownPathTest(app_case.SiteCase):
    def test_hint_names_what_is_too_much_in_the_url(self) -> None:
        error = self.refused('GET', '/v1/v1/services', 404)
        self.assertIn('does not end with /v1', error['hint'])
