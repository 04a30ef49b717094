"""Validation of requests."""

from __future__ import annotations

import contextlib
import json
import unittest
from typing import Any

import hypothesis
import werkzeug.datastructures
from hypothesis import strategies as st

from ironic_ownership.api import schemas
from ironic_ownership.api.resources import move_answers
from ironic_ownership.api.schemas import Parameter
from ironic_ownership.contracts import exceptions
from ironic_ownership.web import flask_app

PARAMETERS = (
    *schemas.PAGE,
    Parameter('long', 'x', {'type': 'boolean'}),
    Parameter('state', 'x', {'type': 'array', 'items': {'enum': ['a', 'b']}}),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
UUID = '12345678-1234-1234-1234-123456789abc'


def query(*pairs: tuple[str, str]) -> Any:
    sent = werkzeug.datastructures.MultiDict(pairs)
    return flask_app.query_values(sent, PARAMETERS)


def body_of(data: bytes, schema: Any = move_answers.BODY) -> Any:
    return flask_app.body_value(data, 'application/json', schema)


class RequestTest(unittest.TestCase):
    def test_values_of_a_query_have_their_types(self) -> None:
        pairs = ('limit', '5'), ('long', 'true'), ('marker', '7')
        self.assertEqual(
            {'limit': 5, 'long': True, 'state': ['a', 'b'], 'marker': '7'},
            query(*pairs, ('state', 'a'), ('state', 'b')),
        )

    def test_what_is_no_value_is_refused(self) -> None:
        for name, values in (
            ('limit', ('0', '-1', '1.0', '1e3', ' 1', '٣', '')),
            ('long', ('True', '1')),
            ('state', ('c',)),
            ('marker', ('', 'a\x00b', 'a\n')),
            ('other', ('1',)),
        ):
            for value in values:
                with self.assertRaises(exceptions.RequestError, msg=value):
                    query((name, value))

    @hypothesis.given(
        st.lists(
            st.tuples(st.sampled_from(['limit', 'long', 'x']), st.text())
        ),
        JSON.map(json.dumps).map(str.encode) | st.binary(),
    )
    def test_nothing_else_comes_of_any_request(
        self, pairs: Any, data: bytes
    ) -> None:
        for read in (lambda: query(*pairs), lambda: body_of(data)):
            with contextlib.suppress(exceptions.RequestError):
                read()

    def test_fault_is_named_with_its_place(self) -> None:
        for service, select, *texts in (
            ('a\n', {'service': 'b'}, 'body.service'),
            (
                *('a', {'uuids': ['A' * 8]}, 'body.select: is either'),
                "body.select.uuids[0]: 'AAAAAAAA' does not match",
            ),
            ('a', {'uuids': [UUID, UUID]}, 'has non-unique elements'),
            ('a', {'uuids': ['A'] * 7}, 'and 3 more'),
            # A long value is not repeated in full.
            ('x' * 9000, 1, 'body.service', ' is too long: at most 255'),
        ):
            body = json.dumps({'service': service, 'select': select})
            with self.assertRaises(exceptions.RequestError) as caught:
                body_of(body.encode())
            self.assertTrue(caught.exception.faults)
            for text in texts:
                self.assertIn(text, str(caught.exception))
            self.assertLess(len(str(caught.exception)), 1000)

    def test_number_that_json_cannot_hold_is_refused(self) -> None:
        for text in (b'NaN', b'-Infinity', b'1e999', b'9' * 5000):
            with self.assertRaisesRegex(exceptions.RequestError, 'not JSON'):
                body_of(b'[%s]' % text, {})

    def test_levels_of_a_body_are_limited(self) -> None:
        body_of(b'[' * 50 + b']' * 50, {})
        for levels in (52, 900, *range(920, 950), 10**5):
            for schema in ({}, move_answers.BODY):
                with self.assertRaises(exceptions.RequestError, msg=levels):
                    body_of(b'[' * levels + b']' * levels, schema)

    def test_number_without_a_fraction_is_whole(self) -> None:
        read = body_of(b'[1.0, 1e3, -0.0, 1.5]', {})
        self.assertEqual('[1, 1000, 0, 1.5]', repr(read))
