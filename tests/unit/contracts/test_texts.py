"""Texts from outside: nothing that a terminal obeys, and no password."""

from __future__ import annotations

import unittest

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.contracts import texts


class PrintableTest(unittest.TestCase):
    @hypothesis.given(st.text(st.characters(exclude_categories=())))
    def test_every_character_is_printable(self, text) -> None:
        self.assertTrue(texts.printable(text).isprintable())

    def test_escapes_can_be_read(self) -> None:
        for text, shown in (
            ('größe 5', 'größe 5'),
            ('\x1b]52;c;eA==\x07', r'\x1b]52;c;eA==\x07'),
            ('a\nb\u202ec', r'a\nb\u202ec'),
        ):
            self.assertEqual(shown, texts.printable(text))


class CredentialsTest(unittest.TestCase):
    def test_no_password_is_left(self) -> None:
        for password in ('secret', 'se/cret', 'se@cret', 'se"cret', ":'?#"):
            text = f'GET http://user:{password}@ironic:6385/v1 fails: x@y'
            self.assertEqual(
                'GET http://***@ironic:6385/v1 fails: x@y',
                texts.without_credentials(text),
            )

    def test_other_texts_stay(self) -> None:
        for text in ('mary@p1', 'http://ironic:6385/v1 of mary@p1', ''):
            self.assertEqual(text, texts.without_credentials(text))


class TimesTest(unittest.TestCase):
    def test_moment_is_in_utc_and_durations_have_one_unit(self) -> None:
        self.assertEqual('1970-01-01T00:00:00+00:00', texts.moment(0.4))
        self.assertIsNone(texts.moment(None))
        for text, seconds in (
            *(('90m', 5400), ('2h', 7200), ('1d', 86400), ('1w', 604800)),
            *(('0s', 0), ('9', None), ('1h30m', None), ('-1h', None)),
            *(('2025-01-31', None), ('1234567890s', None), ('', None)),
        ):
            self.assertEqual(seconds, texts.parse_duration(text), text)
