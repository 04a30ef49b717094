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
