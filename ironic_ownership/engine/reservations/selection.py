"""Selection of the nodes that fit a request, with counts of the others.

Pure, and no guarantee: a node may be taken before it is reserved, which
Ironic decides.

Concurrent requests for different instances start at different nodes, so that
they do not compete for the same.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
from collections.abc import (
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)

from ironic_ownership.contracts import flavor_specs, model
from ironic_ownership.contracts.reservations import Request
from ironic_ownership.engine.reservations import requirements

LIMIT = 10
"""Candidates of one attempt: some remain after concurrent requests."""

INSTANCE, OWNED, NODE = 'instance', 'owned', 'node'
RESOURCE_CLASS, POLICIES = 'resource_class', 'policies'
TRAIT, FORBIDDEN_TRAIT = 'trait:', 'forbidden_trait:'

_Condition = tuple[int, str, Callable[[model.Node], object]]
"""Place of its count among the others, name, and whether a node fulfils it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """Result of a selection.

    :param candidates: nodes to try, in this order; all of one resource
        class, because an allocation of Ironic has only one.
    :param examined: number of nodes before any condition.
    :param removed: number of nodes by condition, in the order of the
        conditions; each node counts for the first that it fails. A code of
        :class:`reasons.Unavailable` is a condition, too.
    """

    candidates: tuple[model.Node, ...]
    examined: int
    fitting: int
    removed: Mapping[str, int]


def choose(
    request: Request,
    nodes: Iterable[model.Node],
    evaluate: Callable[[model.Node], str | None],
    *,
    owned: Container[str] = frozenset(),
    admits: Callable[[model.Node], bool] = lambda node: True,
) -> Choice:
    """Choose among nodes.

    The candidates and their order depend only on the nodes and the instance,
    see ``sample``.

    :param evaluate: returns the code why nothing can be scheduled to a node,
        or ``None``. Called only for nodes that fulfil all conditions.
    :param owned: uuids of nodes that are owned or held already.
    :param admits: whether the service's policies admit a node; by default
        all.
    """
    conditions = [*_of_request(request, owned), (6, POLICIES, admits)]
    fitting: list[model.Node] = []
    counts: dict[tuple[int, str], int] = collections.Counter()
    for node in nodes:
        for place, name, fits in conditions:
            if not fits(node):
                counts[place, name] += 1
                break
        else:
            if code := evaluate(node):
                counts[7, str(code)] += 1
            else:
                fitting.append(node)
    return Choice(
        candidates=sample(fitting, request.instance_uuid, LIMIT),
        examined=len(fitting) + sum(counts.values()),
        fitting=len(fitting),
        removed={name: counts[_, name] for _, name in sorted(counts)},
    )


def _of_request(
    request: Request, owned: Container[str]
) -> Iterator[_Condition]:
    """Yield the conditions of a request, in their order."""
    specs, named = request.specs(), request.node
    if named is not None:
        uuids = named, named.lower()
        yield 0, NODE, lambda n: n.uuid in uuids or n.name == named
    yield 1, INSTANCE, lambda n: n.instance_uuid is None
    yield 2, OWNED, lambda n: n.uuid not in owned
    # Neither Nova nor Ironic can schedule to a node without a class.
    yield 3, RESOURCE_CLASS, lambda n: n.resource_class
    if request.resource_class is not None:
        own = request.resource_class
        yield 3, RESOURCE_CLASS, lambda n: n.resource_class == own
    if (of := specs.resource_class) is not None:
        yield (
            *(3, RESOURCE_CLASS),
            lambda n: flavor_specs.normalised(n.resource_class or '') == of,
        )
    forbidden = {*request.forbidden_traits, *specs.forbidden_traits}
    for kind, names, wanted in (
        (TRAIT, {*request.traits, *specs.traits}, True),
        (FORBIDDEN_TRAIT, forbidden, False),
    ):
        for name in sorted(names):
            yield 4, kind + name, _has(name, wanted=wanted)
    for name, is_met in requirements.of(request, specs):
        yield 5, name, is_met


def _has(trait: str, *, wanted: bool) -> Callable[[model.Node], bool]:
    return lambda node: (trait in node.traits) is wanted


def sample(
    nodes: Sequence[model.Node], instance_uuid: str, limit: int
) -> tuple[model.Node, ...]:
    """Return at most ``limit`` nodes of one resource class.

    They are ordered by a hash with the instance's uuid.
    """

    def rank(node: model.Node) -> tuple[bytes, str]:
        hashed = hashlib.blake2b(
            node.uuid.encode(), key=instance_uuid.encode()[:64], digest_size=8
        )
        return hashed.digest(), node.uuid

    ranked = sorted(nodes, key=rank)
    same = [n for n in ranked if n.resource_class == ranked[0].resource_class]
    return tuple(same[:limit])
