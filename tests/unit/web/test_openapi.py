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

    def test_document_is_json_and_the_same_for_every_client(self) -> None:
        self.assertEqual(
            self.document, json.loads(json.dumps(routes.document()))
        )

    def test_every_operation_is_described_once(self) -> None:
        described = [
            operation['operationId']
            for path in self.document['paths'].values()
            for operation in path.values()
        ]
        self.assertEqual(len(routes.OPERATIONS), len(set(described)))
        self.assertEqual(len(described), len(set(described)))

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

    def test_errors_keep_their_schema(self) -> None:
        for method, path in (
            ('GET', '/v1/services/missing'),
            ('GET', '/v1/services?x=1'),
            ('DELETE', '/v1/services'),
        ):
            answer = self.client.open(path, method=method)
            jsonschema.validate(answer.get_json(), errors.SCHEMA)

    def test_answers_keep_their_schemas(self) -> None:
        for path, template in (
            ('/v1/compute-nodes', None),
            ('/v1/services', None),
            ('/v1/services?long=true', '/v1/services'),
            ('/v1/services/new', '/v1/services/{host}'),
            ('/v1/members', None),
            ('/v1/moves', None),
            ('/v1/check', None),
            ('/', None),
        ):
            described = self.document['paths'][template or path]['get']
            schema = described['responses']['200']['content'][
                'application/json'
            ]['schema']
            jsonschema.validate(self.get(path), schema)
