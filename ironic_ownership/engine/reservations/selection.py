"""Selection of the nodes that fit a request, with counts of the others.

Pure, and no guarantee: a node may be taken before it is reserved, which
Ironic decides.

100,000 nodes take a tenth of a second of CPU, because each condition is
evaluated once for each distinct value; see ``node_filter``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
from collections.abc import (
    Callable,
    Container,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)

from ironic_ownership.contracts import flavor_specs, model, reservation_request
from ironic_ownership.engine.reservations import (
    node_filter,
    requirements,
    sampling,
)

LIMIT = 10
"""Candidates of one attempt: some remain after concurrent requests."""

INSTANCE, OWNED, NODE = 'instance', 'owned', 'node'
RESOURCE_CLASS, POLICIES = 'resource_class', 'policies'
TRAIT, FORBIDDEN_TRAIT = 'trait:', 'forbidden_trait:'

_FEW = 1000
"""Number of distinct properties that may be evaluated one by one."""

_SAMPLE = 2 * _FEW
_CLASS = operator.attrgetter('resource_class')
_TRAITS = operator.attrgetter('traits')
_PROPERTIES = operator.attrgetter('properties')


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """Result of a selection.

    :param candidates: nodes to try, in this order; all of one resource
        class, because an allocation of Ironic has only one.
    :param examined: number of nodes before any condition.
    :param fitting: number of nodes that fit.
    :param removed: number of nodes by condition, in the order of the
        conditions; each node counts for the first that it fails. A code of
        :class:`availability.Unavailable` is a condition, too.
    """

    candidates: tuple[model.Node, ...]
    examined: int
    fitting: int
    removed: Mapping[str, int]


def choose(
    request: reservation_request.Request,
    nodes: Iterable[model.Node],
    evaluate: Callable[[model.Node], str | None],
    *,
    owned: Container[str] = frozenset(),
    admits: Callable[[model.Node], bool] | None = None,
    limit: int = LIMIT,
) -> Choice:
    """Choose among nodes.

    The candidates and their order depend only on the nodes and the instance,
    see ``sampling``.

    :param evaluate: returns the code why nothing can be scheduled to a node,
        or ``None``. Called only for nodes without an instance, and once for
        nodes that are equal in :func:`_states`.
    :param owned: uuids of nodes that are owned or held already.
    :param admits: whether the service's policies admit a node; by default
        all.
    :param limit: maximum number of candidates.
    """
    remaining = node_filter.NodeFilter(nodes)
    specs = request.specs()
    _filter_free(remaining, request, owned)
    _filter_classes(remaining, request, specs)
    _filter_traits(remaining, request, specs)
    _filter_properties(remaining, requirements.of(request, specs))
    if admits is not None:
        remaining.keep(POLICIES, admits)
    remaining.filter(_states, evaluate)
    return Choice(
        candidates=sampling.sample(
            remaining.nodes, request.instance_uuid, limit
        ),
        examined=remaining.examined,
        fitting=len(remaining.nodes),
        removed=remaining.removed,
    )


def _filter_free(
    remaining: node_filter.NodeFilter,
    request: reservation_request.Request,
    owned: Container[str],
) -> None:
    if request.node is not None:
        wanted = request.node, request.node.lower()
        remaining.keep(NODE, lambda n: n.uuid in wanted or n.name == wanted[0])
    remaining.replace(
        INSTANCE, [n for n in remaining.nodes if n.instance_uuid is None]
    )
    if owned:
        remaining.replace(
            OWNED, [n for n in remaining.nodes if n.uuid not in owned]
        )


def _filter_classes(
    remaining: node_filter.NodeFilter,
    request: reservation_request.Request,
    specs: flavor_specs.FlavorSpecs,
) -> None:
    wanted = request.resource_class
    if wanted is not None:
        found = [n for n in remaining.nodes if n.resource_class == wanted]
        remaining.replace(RESOURCE_CLASS, found)

    def evaluate(node: model.Node) -> str | None:
        # Neither Nova nor Ironic can schedule to a node without a class.
        name = node.resource_class
        fits = name and specs.resource_class in (
            None,
            flavor_specs.normalised(name),
        )
        return None if fits else RESOURCE_CLASS

    remaining.filter(functools.partial(map, _CLASS), evaluate)


def _filter_traits(
    remaining: node_filter.NodeFilter,
    request: reservation_request.Request,
    specs: flavor_specs.FlavorSpecs,
) -> None:
    required = sorted({*request.traits, *specs.traits})
    forbidden = sorted({*request.forbidden_traits, *specs.forbidden_traits})

    def evaluate(node: model.Node) -> str | None:
        for name in required:
            if name not in node.traits:
                return TRAIT + name
        for name in forbidden:
            if name in node.traits:
                return FORBIDDEN_TRAIT + name
        return None

    if required or forbidden:
        remaining.filter(functools.partial(map, _TRAITS), evaluate)


def _filter_properties(
    remaining: node_filter.NodeFilter,
    required: Sequence[requirements.Requirement],
) -> None:
    if not required:
        return
    fields = sorted({f for one in required for f in one.fields})

    def evaluate(node: model.Node) -> str | None:
        for requirement in required:
            text = requirement.read(node.properties)
            if text is None or not requirement.fits(text):
                return requirement.name
        return None

    # Nodes of one scan share equal properties, unless each has its own.
    if len(set(_ids(remaining.nodes[:_SAMPLE]))) > _FEW:
        for key_of in (_all_values(fields), _values(fields)):
            # A node lacks a property, or has a list, which is not hashable.
            with contextlib.suppress(KeyError, TypeError):
                remaining.filter(key_of, evaluate)
                return
    remaining.filter(_ids, evaluate)


def _ids(nodes: Iterable[model.Node]) -> Iterable[Hashable]:
    return (id(n.properties) for n in nodes)


def _all_values(fields: Sequence[str]) -> node_filter.Key:
    """Return the fastest key, for properties that every node has."""
    read = operator.itemgetter(*fields)
    return lambda nodes: map(read, map(_PROPERTIES, nodes))


def _values(fields: Sequence[str]) -> node_filter.Key:
    reads = [operator.methodcaller('get', field) for field in fields]

    def key_of(nodes: Iterable[model.Node]) -> Iterable[Hashable]:
        properties = list(map(_PROPERTIES, nodes))
        return zip(*(map(read, properties) for read in reads), strict=True)

    return key_of


def _states(nodes: Iterable[model.Node]) -> Iterable[Hashable]:
    """Return the fields that decide about the availability of free nodes.

    Written out, because reading the fields by name takes twice as long.
    """
    return (
        (
            n.driver,
            n.conductor_group,
            n.provision_state,
            n.target_provision_state,
            n.power_state,
            n.target_power_state,
            n.maintenance,
            n.retired,
            n.reservation,
        )
        for n in nodes
    )
