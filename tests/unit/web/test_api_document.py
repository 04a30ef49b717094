"""The OpenAPI document against the application: schemathesis.

Each operation is sent what its schemas allow, and what they don't. The same
requests in every run: nothing is random here.
"""

from __future__ import annotations

import json
import re

import hypothesis
import jsonschema
import schemathesis
from schemathesis import GenerationMode, checks

from ironic_ownership.web import errors, routes
from tests.unit.web import app_case

EXAMPLES = 8
"""Requests of one kind for one operation: some 40 operations, two kinds."""

SETTINGS = hypothesis.settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    suppress_health_check=list(hypothesis.HealthCheck),
)


class DocumentTest(app_case.SiteCase):
    options = 'auth_strategy = noauth\nmetrics_interval = 60'

    def setUp(self) -> None:
        super().setUp()
        self.schema = schemathesis.openapi.from_wsgi(
            '/openapi.json', self.client.application
        )

    def operations(self):
        return [found.ok() for found in self.schema.get_all_operations()]

    def send(self, operation, mode: GenerationMode) -> int:
        """Send an operation many requests; return how many."""
        sent = []

        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        @SETTINGS
        def ask(case) -> None:
            sent.append(case)
            answer = case.call()
            excluded = [checks.max_response_time]
            if answer.status_code == 413:
                # "Too large" is a refusal that the check does not know.
                excluded.append(checks.negative_data_rejection)
            if 'named more than once' in answer.text:
                # No schema can say that an item differs in one property.
                excluded.append(checks.positive_data_acceptance)
            case.validate_response(answer, excluded_checks=excluded)
            self.assertIn('x-openstack-request-id', answer.headers)
            self.assertLess(answer.status_code, 500, answer.text)

        ask()
        return len(sent)

    def test_document_is_valid_and_complete(self) -> None:
        self.schema.validate()
        self.assertEqual(
            {
                f'{one.method} {one.path}'
                for one in routes.OPERATIONS
                # schemathesis leaves out the document itself.
                if one.path != '/openapi.json'
            },
            {operation.label for operation in self.operations()},
        )

    def test_what_the_schemas_allow_is_answered_as_they_say(self) -> None:
        for operation in self.operations():
            with self.subTest(operation.label):
                sent = self.send(operation, GenerationMode.POSITIVE)
                self.assertLess(0, sent)

    def test_what_they_do_not_allow_is_refused(self) -> None:
        for operation in self.operations():
            takes = [*operation.path_parameters, *operation.query]
            if takes or list(operation.body):
                with self.subTest(operation.label):
                    sent = self.send(operation, GenerationMode.NEGATIVE)
                    self.assertLess(0, sent)

    def test_every_schema_and_pattern_is_one_of_the_whole_text(self) -> None:
        for one in routes.OPERATIONS:
            schemas = [p.schema for p in (*one.parameters, *one.query)]
            schemas += [s for _, s in one.answers.values() if s is not None]
            schemas += [one.body] if one.body is not None else []
            for schema in (*schemas, errors.SCHEMA):
                jsonschema.Draft202012Validator.check_schema(schema)
        document = json.dumps(self.get('/openapi.json'))
        patterns = set(re.findall(r'"pattern": "(.*?)"', document))
        self.assertLess(5, len(patterns))
        for pattern in patterns:
            self.assertRegex(pattern, r'^\^.*\$$')

    def tearDown(self) -> None:
        # For any request, nothing that it was not allowed to change did.
        self.assertEqual({'old'}, {*self.owners().values()})
        super().tearDown()
