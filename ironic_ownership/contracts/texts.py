"""Texts from outside that are shown, logged or stored."""

from __future__ import annotations

import re

_CREDENTIALS = re.compile(r'(\w://)\S+@')


def printable(text: str) -> str:
    r"""Return a text with ``\x1b`` and the like for what is not printable.

    Line feeds are not, nor is what sends commands to a terminal or changes
    the direction of writing.
    """
    if text.isprintable():
        return text
    return ''.join(
        one if one.isprintable() else one.encode('unicode_escape').decode()
        for one in text
    )


def without_credentials(text: str) -> str:
    """Return a text whose URLs have no user and no password.

    A password may have any character but a blank: URLs are masked up to their
    last ``@``.
    """
    # A page of a list has none: the expression would try each of its words.
    if '://' not in text:
        return text
    return _CREDENTIALS.sub(r'\1***@', text)
