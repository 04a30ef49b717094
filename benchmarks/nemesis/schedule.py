"""Schedule of the faults of one round, from the seed alone."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import TypeVar

from benchmarks.nemesis.settings import Settings

T = TypeVar('T')


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of fault.

    :param weight: how often it is chosen.
    :param shortest: seconds that its effect lasts, at least.
    :param longest: seconds that its effect lasts, at most.
    """

    name: str
    weight: float
    shortest: float = 0.0
    longest: float = 0.0


@dataclasses.dataclass(frozen=True)
class Planned:
    """One fault of the schedule.

    :param at: seconds after the beginning of the round.
    :param duration: seconds of its effect.
    :param draws: random integers that choose its targets among those that
        exist then.
    """

    at: float
    kind: str
    duration: float
    draws: Sequence[int]

    def choose(self, number: int, candidates: Sequence[T]) -> T:
        """Choose one of some candidates by one of the draws.

        :raises LookupError: if there is none.
        """
        if not candidates:
            raise LookupError(f'{self.kind}: no candidate')
        return candidates[self.draws[number] % len(candidates)]


def of_round(
    settings: Settings, number: int, kinds: Sequence[Kind]
) -> list[Planned]:
    """Return the faults of one round, in the order of their times."""
    chance = random.Random(f'{settings.seed}/{number}')
    weights = [kind.weight for kind in kinds]
    planned: list[Planned] = []
    at = 0.0
    while True:
        at += chance.expovariate(1 / settings.pause)
        if at >= settings.storm:
            return planned
        (kind,) = chance.choices(kinds, weights)
        duration = chance.uniform(kind.shortest, kind.longest)
        duration *= settings.pace
        draws = [chance.getrandbits(31) for _ in range(6)]
        planned.append(Planned(at, kind.name, duration, draws))
