"""Difference between nodes and their providers in Placement. Pure.

A node is one unit of its resource class, reserved while nothing can be
scheduled to it, with its traits in Ironic. The record keeps a digest of what
Placement accepted, in two parts: a node whose digest matches is never written
again, regardless of its owner.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import hashlib
import json
import uuid as uuid_
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ironic_ownership.contracts import flavor_specs, model, placement, reasons

_SERVICES = uuid_.UUID('0b0f2a57-2f0c-5d3b-9b4e-6d1d2b2f7c11')
_SEPARATOR = '-'

Resources = Mapping[str, placement.Resource]


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """Wanted state of a provider, with both parts of its digest.

    :param traits_part: empty to leave the traits as they are.
    """

    resources: Resources
    traits: frozenset[str]
    inventory_part: str
    traits_part: str

    @property
    def digest(self) -> str:
        """The digest to record once Placement has accepted all of it."""
        return joined(self.inventory_part, self.traits_part) or ''


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One provider that is, or may be, out of date.

    :param known: digest on record; ``None`` if nothing was ever reported.
    :param name: of the service, if the provider has its sums.
    """

    uuid: str
    wanted: Wanted
    known: str | None
    compares: bool = False
    name: str | None = None

    @property
    def inventory(self) -> bool:
        """True if the inventory has to be written."""
        return (
            self.compares or parts(self.known)[0] != self.wanted.inventory_part
        )

    @property
    def traits(self) -> bool:
        """True if the traits have to be written."""
        if not self.wanted.traits_part:
            return False
        return self.compares or parts(self.known)[1] != self.wanted.traits_part

    @property
    def reserves(self) -> bool:
        """True if it takes a node out of scheduling, which is urgent."""
        return (
            self.known is not None
            and self.inventory
            and any(r.reserved for r in self.wanted.resources.values())
        )


@dataclasses.dataclass(frozen=True)
class Diff:
    """Steps for the nodes of one service.

    :param steps: for nodes that are out of date, the most urgent first.
    :param comparisons: for nodes that should be up to date.
    :param without_class: nodes that are not reported without one.
    """

    steps: list[Step] = dataclasses.field(default_factory=list)
    comparisons: list[Step] = dataclasses.field(default_factory=list)
    without_class: list[str] = dataclasses.field(default_factory=list)


def wanted(node: model.Node, unavailable: str | None) -> Wanted:
    """Return the wanted provider of a node."""
    resources, inventory_part = _resources(
        node.resource_class, unavailable is not None
    )
    traits, traits_part = _traits(node.traits)
    return Wanted(resources, traits, inventory_part, traits_part)


def compare(
    nodes: Iterable[model.Node],
    records: Mapping[str, model.ComputeNode],
    to_compare: Collection[str] = frozenset(),
) -> Diff:
    """Find the nodes whose provider is out of date.

    :param records: those of one service, by uuid; other nodes are left out.
    :param to_compare: uuids of nodes whose provider another client may have
        changed.
    """
    diff = Diff()
    for node in nodes:
        record = records.get(node.uuid)
        if record is None:
            continue
        if not node.resource_class:
            diff.without_class.append(node.uuid)
            if record.placement_digest is None:
                continue
        should = wanted(node, record.unavailable)
        if should.digest != record.placement_digest:
            diff.steps.append(Step(node.uuid, should, record.placement_digest))
        elif node.uuid in to_compare:
            diff.comparisons.append(
                Step(node.uuid, should, should.digest, compares=True)
            )
    diff.steps.sort(key=_urgency)
    return diff


def _urgency(step: Step) -> int:
    if step.reserves:
        return 0
    return 1 if step.known is not None else 2


def parts(digest: str | None) -> tuple[str, str]:
    """Return the digest's parts of inventory and traits; empty if unknown."""
    inventory, _, traits = (digest or '').partition(_SEPARATOR)
    return inventory, traits


def traits_part(names: Iterable[str]) -> str:
    """Return the digest's part of some traits."""
    return _traits(tuple(sorted(names)))[1]


def joined(inventory_part: str, traits_part: str) -> str | None:
    """Return the digest of both; ``None`` if nothing is known."""
    if not inventory_part and not traits_part:
        return None
    return f'{inventory_part}{_SEPARATOR}{traits_part}'


def sums(nodes: Iterable[tuple[model.Node, bool, str | None]]) -> Wanted:
    """Return the wanted provider of one service, with its capacity.

    The total is of all nodes in its scope, in service or not. Unavailable
    nodes are reserved, except for those with its own instances, whose
    allocations Placement counts itself.

    Source: multiple-compute-hosts, "Alternatives": each compute host reports
    the total capacity.

    :param nodes: each with whether the service owns it, and why it is
        unavailable, if it is.
    """
    total: collections.Counter[str] = collections.Counter()
    reserved: collections.Counter[str] = collections.Counter()
    for node, own, code in nodes:
        if not node.resource_class:
            continue
        name = flavor_specs.normalised(node.resource_class)
        total[name] += 1
        # In maintenance or out of service, too.
        deployed = bool(node.instance_uuid)
        deployed = deployed or code in reasons.WITH_INSTANCE
        if code and not (own and deployed):
            reserved[name] += 1
    found = {
        name: placement.Resource(count, reserved[name])
        for name, count in sorted(total.items())
    }
    return Wanted(found, frozenset(), _resources_part(found), '')


def service_uuid(host: str) -> str:
    """Return the stable uuid of the provider of a whole service."""
    return str(uuid_.uuid5(_SERVICES, host))


@functools.lru_cache(maxsize=1024)
def _resources(
    resource_class: str | None, reserved: bool
) -> tuple[Resources, str]:
    found: Resources = {}
    if resource_class:
        # Source: the convention of Nova and Ironic, which flavors use.
        name = flavor_specs.normalised(resource_class)
        found = {name: placement.Resource(1, int(reserved))}
    return found, _resources_part(found)


def _resources_part(resources: Resources) -> str:
    return _digest({n: dataclasses.asdict(r) for n, r in resources.items()})


@functools.lru_cache(maxsize=1024)
def _traits(names: tuple[str, ...]) -> tuple[frozenset[str], str]:
    return frozenset(names), _digest(sorted(set(names)))


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
