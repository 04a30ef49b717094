"""A middleware that is broken on purpose: it keeps its answers for a while.

Imported at the start of an Ironic whose ``PYTHONPATH`` names this directory;
``KEPT`` names the seconds in its environment.
"""

import functools
import os
import time
from collections.abc import Collection

from ironic_ownership_middleware import records

_KEPT = float(os.environ.get('KEPT', '3'))
_plain = records.Records.read


@functools.cache
def _kept(
    reader: records.Records,
    service: str,
    uuids: frozenset[str],
    names: frozenset[str],
    period: int,
) -> records.Answer:
    return _plain(reader, service, uuids, names)


def _read(
    reader: records.Records,
    service: str,
    uuids: Collection[str],
    names: Collection[str],
) -> records.Answer:
    period = int(time.time() / _KEPT)
    return _kept(reader, service, frozenset(uuids), frozenset(names), period)


records.Records.read = _read  # type: ignore[method-assign, assignment]
