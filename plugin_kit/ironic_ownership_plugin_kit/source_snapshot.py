"""Snapshot of a policy's source, read for ``plugin check``."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from ironic_ownership.contracts import (
    foreign_errors,
    model,
    sources,
)
from ironic_ownership.contracts.calls import KeyedCalls, UnfinishedError
from ironic_ownership.engine.decision import policy_validation


def read(
    source: sources.Source, settings: Mapping[str, model.Value]
) -> tuple[model.Value, str]:
    """Read a source as a service does, and again.

    :returns: the snapshot and an empty text, or ``None`` and the error.
    """
    found, error = _read(source, settings)
    if not error and _read(source, settings) != (found, ''):
        error = (
            'two reads in a row differ, and each change is advertised: sort '
            'it, and leave out what is new each time'
        )
    return (None, error) if error else (found, '')


def _read(
    source: sources.Source, settings: Mapping[str, model.Value]
) -> tuple[model.Value, str]:
    calls: KeyedCalls[model.Value] = KeyedCalls()
    try:
        found = calls.result(
            source.name,
            functools.partial(source.read, dict(settings)),
            source.timeout,
        )
        policy_validation.check_snapshot(found)
    except UnfinishedError:
        return None, f'it has not been read after {source.timeout:g} s'
    except BaseException as exc:
        if foreign_errors.is_interrupt(exc):
            raise
        return None, foreign_errors.described(exc)
    return found, ''
