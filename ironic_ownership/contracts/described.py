"""Codes that carry their help text."""

from __future__ import annotations

import enum
from typing import Self


class DescribedEnum(enum.StrEnum):
    """Stable codes, each with one phrase for operators.

    :ivar help: the phrase, for tables and log lines.
    """

    help: str

    def __new__(cls, code: str, text: str) -> Self:
        """Make a member of its code and its phrase."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.help = text
        return member
