"""Bars in a table on a terminal: a number relative to a mean."""

from __future__ import annotations

import io
from typing import Any

_HALF = 6
"""Characters of a bar for the mean; a full bar is twice the mean or more."""


def fit(stdout: Any) -> bool:
    """Tell whether a stream is a terminal that has the characters of bars."""
    encoding = str(getattr(stdout, 'encoding', None) or '')
    return bool(stdout.isatty()) and encoding.lower().startswith('utf')


def beside(number: float | None) -> str | None:
    """Return a number with its bar, in which a line marks the mean."""
    if number is None:
        return None
    from rich.bar import Bar
    from rich.console import Console

    bar = Bar(2.0, 0.0, min(max(number, 0.0), 2.0), width=2 * _HALF)
    parts = Console(file=io.StringIO()).render(bar)
    text = ''.join(part.text for part in parts).rstrip().ljust(2 * _HALF)
    return f'{number:.2f} {text[:_HALF]}│{text[_HALF:]}'.rstrip()
