"""Validation of requests."""

from __future__ import annotations

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


def query(*pairs: tuple[str, str]):
    sent = werkzeug.datastructures.MultiDict(pairs)
    return flask_app.query_values(sent, PARAMETERS)


UUID = '12345678-1234-1234-1234-123456789abc'


class QueryTest(unittest.TestCase):
    def test_values_have_their_types(self) -> None:
        self.assertEqual(
            {'limit': 5, 'long': True, 'state': ['a', 'b'], 'marker': '7'},
            query(
                ('limit', '5'),
                ('long', 'true'),
                ('state', 'a'),
                ('state', 'b'),
                ('marker', '7'),
            ),
        )

    def test_what_is_no_value_is_refused(self) -> None:
        for pair in (
            ('limit', '0'),
            ('limit', '-1'),
            ('limit', '1.0'),
            ('limit', '1e3'),
            ('limit', ' 1'),
            ('limit', '٣'),
            ('limit', ''),
            ('long', 'True'),
            ('long', '1'),
            ('state', 'c'),
            ('marker', ''),
            ('marker', 'a\x00b'),
            ('marker', 'a\n'),
            ('other', '1'),
        ):
            with self.assertRaises(exceptions.RequestError, msg=pair):
                query(pair)

    @hypothesis.given(
        st.lists(st.tuples(st.sampled_from(['limit', 'long', 'x']), st.text()))
    )
    def test_nothing_else_comes_of_any_query(self, pairs) -> None:
        try:
            query(*pairs)
        except exceptions.RequestError as exc:
            self.assertTrue(exc.faults)


class BodyTest(unittest.TestCase):
    def body_value(self, body: Any) -> Any:
        return flask_app.body_value(
            json.dumps(body).encode(), 'application/json', move_answers.BODY
        )

    def refusal(self, body: Any) -> str:
        with self.assertRaises(exceptions.RequestError) as caught:
            self.body_value(body)
        return str(caught.exception)

    @hypothesis.given(JSON)
    def test_nothing_else_comes_of_any_json(self, value) -> None:
        try:
            self.body_value(value)
        except exceptions.RequestError as exc:
            self.assertTrue(exc.faults)

    def test_line_feed_at_the_end_of_a_text_is_refused(self) -> None:
        refusal = self.refusal({'service': 'a\n', 'select': {'service': 'b'}})
        self.assertIn('body.service', refusal)

    def test_fault_inside_of_an_alternative_is_named(self) -> None:
        for uuids, named in (
            (['A' * 8], "body.select.uuids[0]: 'AAAAAAAA' does not match"),
            ([UUID, UUID], 'has non-unique elements'),
            (['A'] * 7, 'and 3 more'),
        ):
            refusal = self.refusal(
                {'service': 'a', 'select': {'uuids': uuids}}
            )
            self.assertIn('body.select: is either', refusal)
            self.assertIn(named, refusal)

    @hypothesis.given(st.binary())
    def test_nothing_else_comes_of_any_bytes(self, data) -> None:
        try:
            flask_app.body_value(data, 'application/json', move_answers.BODY)
        except exceptions.RequestError as exc:
            self.assertTrue(exc.faults)

    def test_number_without_a_fraction_is_whole(self) -> None:
        read = flask_app.body_value(
            b'[1.0, 1e3, -0.0, 1.5]', 'application/json', {}
        )
        self.assertEqual('[1, 1000, 0, 1.5]', repr(read))

    def test_long_values_are_not_repeated_in_full(self) -> None:
        refusal = self.refusal({'service': 'x' * 9000, 'select': 1})
        self.assertLess(len(refusal), 1000)
