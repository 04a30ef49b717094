"""The sums of some schedules."""

from __future__ import annotations

import collections
import dataclasses
import pathlib


@dataclasses.dataclass
class Result:
    """The sums of some schedules.

    :ivar answers: of the middleware, and what it admitted.
    :ivar calls: of servers, by the name of the step.
    """

    schedules: int = 0
    service_seconds: float = 0.0
    steps: int = 0
    commits: int = 0
    events: int = 0
    acts: int = 0
    slowest: float = 0.0
    digest: str = ''
    answers: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    calls: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    histories: pathlib.Path | None = None
    faults: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    pairs: collections.Counter[tuple[str, str]] = dataclasses.field(
        default_factory=collections.Counter
    )
