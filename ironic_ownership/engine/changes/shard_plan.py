"""Plan of shards: even shares of the nodes with few moves. Pure.

Nodes that are kept together are one unit. Units of the same size, with the
same admitting shards and the same value to spread, are of one kind. The search
works on the numbers of each kind, and only at the end chooses which units
move: none leaves a shard that another one of its kind enters.

The search is local: it moves units from the fullest to the emptiest shard as
long as one of both is off by a node or more, and the move makes the shares
more even. The result is a plan that moving one more unit does not improve.
Equal inputs give equal plans, because all sums are integers.
"""

from __future__ import annotations

import collections
import dataclasses
import fractions
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar('T')


@dataclasses.dataclass(frozen=True, slots=True)
class PlanNode:
    """A node as far as the plan depends on it.

    :param home: the shard of the plan that has it, if one has.
    :param shards: those whose services admit it.
    :param fixed: whether it has to stay at its home.
    :param together: it is kept with every node that has one of these values.
    :param spread: nodes with the same value are spread over the shards.
    """

    uuid: str
    home: str | None
    shards: frozenset[str]
    fixed: bool = False
    together: tuple[str, ...] = ()
    spread: str = ''


@dataclasses.dataclass(frozen=True)
class ShardPlan:
    """The nodes that get another shard, and the shares before and after.

    :param moves: the new shard by uuid, of nodes that get another one.
    :param before: the number of nodes by shard, in the order of the names.
    :param needed: the number of moves below which no plan has these shares,
        of each value to spread as well.
    :param unplaceable: nodes that no shard of the plan can take.
    :param split: nodes that stay apart from others of their unit, because of
        fixed nodes or the limit.
    """

    moves: Mapping[str, str]
    before: Mapping[str, int]
    after: Mapping[str, int]
    needed: int
    unplaceable: Sequence[str] = ()
    split: Sequence[str] = ()


def plan(
    nodes: Iterable[PlanNode],
    weights: Mapping[str, fractions.Fraction | int],
    limit: int | None = None,
) -> ShardPlan:
    """Distribute nodes over shards in proportion to the weights.

    :param weights: by shard; one of weight 0 gives its nodes away.
    :param limit: the highest number of moves. To place a node that no shard
        has is one.
    """
    return _Search(nodes, weights, limit).result()


@dataclasses.dataclass(frozen=True, slots=True)
class _Unit:
    nodes: Sequence[PlanNode]
    homes: Mapping[int, int]
    """The number of its nodes by place."""
    shards: Sequence[int]
    """The places that can take all its nodes."""
    spread: str

    @property
    def size(self) -> int:
        return len(self.nodes)

    @property
    def best(self) -> int:
        """The place with most of its nodes, of those that can take it."""
        known = [place for place in self.homes if place in self.shards]
        places = known or self.homes
        return max(places, key=lambda p: (self.homes[p], -p))


@dataclasses.dataclass(slots=True)
class _Kind:
    size: int
    shards: Sequence[int]
    spread: str
    units: list[list[_Unit]]
    now: list[int]

    def cost(self, source: int, target: int, number: int) -> int:
        """Return by how many nodes a move of units lengthens the plan."""
        back = max(0, self.now[source] - len(self.units[source]))
        away = max(0, len(self.units[target]) - self.now[target])
        return self.size * (number - min(number, away) - min(number, back))


class _Search:
    """One search; places are indices of the names, the last one is none."""

    def __init__(
        self,
        nodes: Iterable[PlanNode],
        weights: Mapping[str, fractions.Fraction | int],
        limit: int | None,
    ) -> None:
        self.names = sorted(weights)
        self.index = {name: at for at, name in enumerate(self.names)}
        parts = [fractions.Fraction(weights[name]) for name in self.names]
        factor = math.lcm(1, *(part.denominator for part in parts))
        self.weights = [int(part * factor) for part in parts]
        ordered = sorted(nodes, key=lambda node: node.uuid)
        # Each node counts at most when its unit is joined, and when it moves.
        self.left = 2 * len(ordered) if limit is None else limit
        homes = collections.Counter(node.home for node in ordered)
        self.before = {name: homes[name] for name in self.names}
        self.after = dict(self.before)
        self.gained: dict[tuple[str, str], int] = collections.Counter()
        """What each shard gains of the nodes with each value to spread."""
        self.moves: dict[str, str] = {}
        self.unplaceable: list[str] = []
        self.split: list[str] = []
        self.kinds: dict[tuple[int, tuple[int, ...], str], _Kind] = {}
        self.loads: dict[tuple[int, str], int] = collections.Counter()
        """The number of nodes by place and value to spread."""
        units = [self._unit(unit) for unit in _together(ordered)]
        homeless = sum(unit.size for unit in units if self._is_placed(unit))
        # To be owned at all comes before being kept together.
        self.left -= homeless
        for unit in units:
            self._sort_in(unit)
        self.left += homeless
        self._prepare_shares()

    def _place(self, shard: str | None) -> int:
        return self.index.get(shard or '', len(self.names))

    def _unit(self, nodes: Sequence[PlanNode]) -> _Unit:
        shards = frozenset.intersection(*{node.shards for node in nodes})
        return _Unit(
            nodes,
            collections.Counter(self._place(node.home) for node in nodes),
            self._taking(shards),
            ' '.join(sorted({node.spread for node in nodes})),
        )

    @functools.cache  # noqa: B019 - a search is short-lived
    def _taking(self, shards: frozenset[str]) -> Sequence[int]:
        """Return the places of the shards that may take nodes."""
        return tuple(
            place
            for place, name in enumerate(self.names)
            if name in shards and self.weights[place]
        )

    def _is_placed(self, unit: _Unit) -> bool:
        """Tell whether a unit has to leave its home."""
        is_free = not any(node.fixed for node in unit.nodes)
        return is_free and bool(unit.shards) and unit.best not in unit.shards

    def _sort_in(self, unit: _Unit) -> None:
        """Settle a unit that has to stay, and join one that is split."""
        fixed = {self._place(n.home) for n in unit.nodes if n.fixed}
        target = min(fixed) if fixed else unit.best
        joins = len(unit.homes) > 1 and target in unit.shards
        cost = unit.size - unit.homes[target] if joins else 0
        if len(fixed) > 1 or cost > self.left:
            joins = False
        if len(unit.homes) > 1 and not joins and not self._is_placed(unit):
            self.split += [node.uuid for node in unit.nodes]
        elif not unit.shards and not fixed:
            self.unplaceable += [node.uuid for node in unit.nodes]
        elif not fixed:
            self.left -= cost
            self._kind(unit).units[target].append(unit)
            return
        if joins:
            self.left -= cost
            self._settle(unit, target)
            return
        for place, number in unit.homes.items():
            self.loads[place, unit.spread] += number

    def _kind(self, unit: _Unit) -> _Kind:
        key = unit.size, tuple(unit.shards), unit.spread
        found = self.kinds.get(key)
        if found is None:
            units: list[list[_Unit]] = [[] for _ in (*self.names, None)]
            found = self.kinds[key] = _Kind(*key, units, [])
        return found

    def _settle(self, unit: _Unit, place: int) -> None:
        self.loads[place, unit.spread] += unit.size
        name = self.names[place]
        for node in unit.nodes:
            if node.home != name:
                self.moves[node.uuid] = name
                self.after[name] += 1
                self.gained[node.spread, name] += 1
                if node.home in self.after:
                    self.after[node.home] -= 1
                    self.gained[node.spread, node.home] -= 1

    def _prepare_shares(self) -> None:
        """Compute how far each shard is off its share.

        Shares are those of connected shards: no node moves between others.
        """
        size, self.whole = len(self.names), [0] * len(self.names)
        root = connected(kind.shards for kind in self.kinds.values())
        component = [root(place) for place in range(size)]
        for place, weight in enumerate(self.weights):
            self.whole[component[place]] += weight
        self.whole = [self.whole[of] for of in component]
        for kind in self.kinds.values():
            kind.now = [len(units) for units in kind.units]
        self.off = [0] * size
        self.cells: dict[str, list[int]] = {}
        for (of, spread), total in self._totals(component).items():
            cells = self.cells.setdefault(spread, [0] * size)
            for place, weight in enumerate(self.weights):
                if component[place] == of:
                    self.off[place] -= total * weight
                    cells[place] -= total * weight
        self.spreads = len(self.cells) > 1
        for (place, spread), number in self.loads.items():
            self._add(place, spread, number)
        for kind in self.kinds.values():
            for place, number in enumerate(kind.now):
                self._add(place, kind.spread, number * kind.size)

    def _totals(self, component: Sequence[int]) -> dict[tuple[int, str], int]:
        """Return the number of nodes to share, by component and value."""
        found: dict[tuple[int, str], int] = collections.Counter()
        for (place, spread), number in self.loads.items():
            if place < len(component):
                found[component[place], spread] += number
        for kind in self.kinds.values():
            of = component[kind.shards[0]]
            found[of, kind.spread] += kind.size * sum(kind.now)
        return found

    def _add(self, place: int, spread: str, number: int) -> None:
        if place < len(self.names):
            self.off[place] += number * self.whole[place]
            self.cells[spread][place] += number * self.whole[place]

    def _fullness(self, kind: _Kind) -> Sequence[int]:
        """Return how full each shard is for nodes of a kind."""
        if not self.spreads:
            return self.off
        cells = self.cells[kind.spread]
        # Twice: otherwise only an exchange could spread what is left.
        return [
            here + 2 * cell for here, cell in zip(self.off, cells, strict=True)
        ]

    def _move(self, kind: _Kind, source: int, target: int, number: int) -> int:
        """Move units as far as the limit allows, and return how many."""
        cost = kind.cost(source, target, number)
        if cost > self.left:
            number = self.left // kind.size
            cost = kind.cost(source, target, number)
        self.left -= cost
        kind.now[source] -= number
        kind.now[target] += number
        self._add(source, kind.spread, -number * kind.size)
        self._add(target, kind.spread, number * kind.size)
        return number

    def _search(self) -> None:
        kinds = [kind for _, kind in sorted(self.kinds.items(), reverse=True)]
        for kind in kinds:
            for place in range(len(self.names) + 1):
                if place not in kind.shards:
                    self._give_away(kind, place)
        for kind in kinds:  # the largest first, and only what fits
            self._improve(kind, fitting=True)
        while sum(self._improve(kind) for kind in reversed(kinds)):
            pass

    def _give_away(self, kind: _Kind, source: int) -> None:
        while kind.now[source]:
            full = self._fullness(kind)
            target = min(kind.shards, key=full.__getitem__)
            room = -full[target] // self._step(kind, target)
            number = max(1, min(room, kind.now[source]))
            if not self._move(kind, source, target, number):
                return

    def _step(self, kind: _Kind, place: int) -> int:
        """Return by how much a unit fills a shard."""
        return kind.size * self.whole[place] * (3 if self.spreads else 1)

    def _improve(self, kind: _Kind, *, fitting: bool = False) -> int:
        """Move units from the fullest to the emptiest shard while it helps."""
        full = list(self._fullness(kind))
        sources = [place for place in kind.shards if kind.now[place]]
        step = self._step(kind, kind.shards[0])
        done = 0
        while sources:
            source = max(sources, key=full.__getitem__)
            target = min(kind.shards, key=full.__getitem__)
            number = self._number(
                kind, full[source], full[target], 0 if fitting else step
            )
            number = min(number, kind.now[source])
            if not (number := self._move(kind, source, target, number)):
                break
            done += number
            full[source] -= number * step
            full[target] += number * step
            if not kind.now[source]:
                sources.remove(source)
            if target not in sources:
                sources.append(target)
        return done

    def _number(self, kind: _Kind, most: int, least: int, step: int) -> int:
        # With a step of 0 only what fits on both sides moves.
        unit = self._step(kind, kind.shards[0])
        room = min(most, -least) // unit
        if room > 0 or not step:
            return max(0, room)
        gap, one = most - least, self.whole[kind.shards[0]]
        is_off = self.spreads or most >= one or least <= -one
        if gap <= step or not is_off:
            return 0
        # Never so many that some would move back.
        return max(1, gap // (2 * step * len(kind.shards)))

    def result(self) -> ShardPlan:
        """Search, and choose the units that move."""
        self._search()
        for kind in self.kinds.values():
            leaving: list[_Unit] = []
            for place, units in enumerate(kind.units):
                # Those leave first that have most of their nodes elsewhere.
                units.sort(key=lambda unit: -unit.homes[unit.best])
                leaving += units[kind.now[place] :]
                del units[kind.now[place] :]
            for place, units in enumerate(kind.units):
                while len(units) < kind.now[place]:
                    units.append(leaving.pop())
                for unit in units if place in kind.shards else ():
                    self._settle(unit, place)
        return ShardPlan(
            self.moves,
            self.before,
            self.after,
            sum(number for number in self.gained.values() if number > 0),
            sorted(self.unplaceable),
            sorted(self.split),
        )


def _together(nodes: Sequence[PlanNode]) -> list[Sequence[PlanNode]]:
    """Return the nodes in units, which are kept together."""
    root = connected(node.together for node in nodes)
    units: dict[str, list[PlanNode]] = {}
    for node in nodes:
        of = root(node.together[0]) if node.together else node.uuid
        units.setdefault(of, []).append(node)
    return list(units.values())


def connected(groups: Iterable[Sequence[T]]) -> Callable[[T], T]:
    """Return what gives equal answers for things that groups connect."""
    above: dict[T, T] = {}

    def root(thing: T) -> T:
        while (higher := above.get(thing, thing)) != thing:
            above[thing] = thing = above.get(higher, higher)
        return thing

    for first, *others in filter(None, groups):
        for other in others:
            above[root(other)] = root(first)
    return root
