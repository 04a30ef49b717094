"""Compact forms of nodes and of their records.

What many of them have in common is kept once, and a row has its number. Only
so much is shared: where nearly every node has a description of its own, it is
in the row.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from ironic_ownership.contracts import compact, model, reasons

P = TypeVar('P')

_REASONS = {reason.value: reason for reason in reasons.Reason}

_COLUMNS = 7
"""Of a row of either form: what is often ``None`` comes last."""

MOST_SHARED = 2000
"""Different parts of one kind that are shared; further ones are not."""


class Shared(Generic[P]):
    """Numbers of parts that several values have in common.

    Threading: one thread at a time adds; any reads.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[P] = []
        self._numbers: dict[Hashable, int] = {}

    @property
    def is_full(self) -> bool:
        """True if no further part is shared."""
        return len(self._parts) >= self._most

    def __getitem__(self, number: int) -> P:
        return self._parts[number]

    def number(self, part: P, key: Hashable) -> int | None:
        """Return the number of a part; ``None`` if it cannot be shared.

        :param key: different for different parts.
        """
        number = self._numbers.get(key)
        if number is None and not self.is_full:
            number = self._numbers[key] = len(self._parts)
            self._parts.append(part)
        return number


class NodeForm(compact.Form[model.Node]):
    """Nodes: all but names and instances is shared where it is equal.

    :param most: parts of one kind that are shared.
    """

    def __init__(self, most: int = MOST_SHARED) -> None:
        self._states: Shared[tuple[Any, ...]] = Shared(most)
        self._mappings: Shared[Any] = Shared(most)

    @property
    def is_full(self) -> bool:
        """True if what further nodes have in common is not shared."""
        return self._states.is_full or self._mappings.is_full

    def row(self, value: model.Node) -> Sequence[Any]:
        """Return a node as JSON."""
        state = (
            value.driver,
            value.conductor_group,
            value.shard,
            value.provision_state,
            value.target_provision_state,
            value.power_state,
            value.target_power_state,
            value.maintenance,
            value.retired,
            value.reservation,
            value.resource_class,
            value.traits,
        )
        number = self._states.number(state, state)
        mapping = self._number_of
        return _without_end(
            value.uuid,
            state if number is None else number,
            mapping(value.properties),
            mapping(value.extra),
            mapping(value.fields),
            value.name,
            value.instance_uuid,
        )

    def value(self, row: Sequence[Any]) -> model.Node:
        """Build an equal node."""
        uuid, state, properties, extra, fields, name, instance = _whole(row)
        if isinstance(state, int):
            state = self._states[state]
        driver, group, shard, *states, maintenance, retired = state[:9]
        provision, target, power, power_target = states
        reservation, resource_class, traits = state[9:]
        return model.Node(
            uuid,
            name,
            driver,
            group,
            shard,
            instance,
            provision,
            target,
            power,
            power_target,
            maintenance,
            retired,
            reservation,
            resource_class,
            self._mapping(properties),
            tuple(traits),
            self._mapping(extra),
            self._mapping(fields),
        )

    def _number_of(self, mapping: Any) -> Any:
        number = self._mappings.number(mapping, repr(mapping))
        return mapping if number is None else number

    def _mapping(self, found: Any) -> Any:
        return self._mappings[found] if isinstance(found, int) else found


class RecordForm(compact.Form[model.ComputeNode]):
    """Records: owner, place and reason are shared where they are equal.

    :param most: parts of one kind that are shared.
    """

    def __init__(self, most: int = MOST_SHARED) -> None:
        self._parts: Shared[tuple[Any, ...]] = Shared(most)

    def row(self, value: model.ComputeNode) -> Sequence[Any]:
        """Return a record as JSON."""
        part = (
            value.host,
            value.driver,
            value.shard,
            value.conductor_group,
            value.reason,
            value.unavailable,
            value.released_by,
        )
        number = self._parts.number(part, part)
        return _without_end(
            value.uuid,
            part if number is None else number,
            value.updated_at,
            value.placement_digest,
            value.name,
            value.instance_uuid,
            value.unavailable_since,
        )

    def value(self, row: Sequence[Any]) -> model.ComputeNode:
        """Build an equal record."""
        uuid, part, updated_at, digest, name, instance, since = _whole(row)
        if isinstance(part, int):
            part = self._parts[part]
        host, driver, shard, group, reason, unavailable, released_by = part
        return model.ComputeNode(
            uuid,
            host,
            instance,
            name,
            driver,
            shard,
            group,
            _REASONS[reason],
            updated_at,
            unavailable,
            since,
            digest,
            released_by,
        )


def _without_end(*row: Any) -> Sequence[Any]:
    """Leave out what is ``None`` at the end: most nodes have no instance."""
    end = _COLUMNS
    while row[end - 1] is None:
        end -= 1
    return row[:end]


def _whole(row: Sequence[Any]) -> Sequence[Any]:
    return (*row, *(None,) * (_COLUMNS - len(row)))
