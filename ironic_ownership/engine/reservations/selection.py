"""Choose the nodes that fit a request, and say why the others do not.

Pure: takes what was read of the nodes, and asks nobody. It promises nothing:
between this and the reservation a node may be gone, which is Ironic's to see.

A hundred thousand nodes are looked at in a tenth of a second of CPU. So each
condition is judged once for each different value that it looks at, and the
values are found again without running Python code for each node.
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
"""Candidates enough that some are left when others were quicker."""

INSTANCE, OWNED, NODE = 'instance', 'owned', 'node'
RESOURCE_CLASS, POLICIES = 'resource_class', 'policies'
TRAIT, FORBIDDEN_TRAIT = 'trait:', 'forbidden_trait:'

_FEW = 1000
"""Different properties that are judged one by one without a thought."""

_SAMPLE = 2 * _FEW
_CLASS = operator.attrgetter('resource_class')
_TRAITS = operator.attrgetter('traits')
_PROPERTIES = operator.attrgetter('properties')


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """What came of the search for a node.

    :param candidates: nodes to be tried, in this order; all of one resource
        class, as Ironic looks in one only.
    :param examined: number of nodes that were looked at.
    :param fitting: number of nodes that fit.
    :param removed: number of nodes that each condition removed, in the order
        of the conditions; each node counts for the first that it misses. A
        code of :class:`availability.Unavailable` is a condition, too.
    """

    candidates: tuple[model.Node, ...]
    examined: int
    fitting: int
    removed: Mapping[str, int]


def choose(
    request: reservation_request.Request,
    nodes: Iterable[model.Node],
    judge: Callable[[model.Node], str | None],
    *,
    owned: Container[str] = frozenset(),
    admits: Callable[[model.Node], bool] | None = None,
    limit: int = LIMIT,
) -> Choice:
    """Choose among nodes.

    Which of those that fit are chosen, and their order, follows from the
    nodes and the instance, the same in every process: requests that come at
    once begin at different nodes.

    :param judge: the code why nothing can be scheduled to a node, ``None``
        if it can be. Asked of nodes without an instance only, and of one for
        all that are equal in :func:`_states`.
    :param owned: uuids of nodes that somebody owns or holds already.
    :param admits: whether the service's policies admit a node; all if not
        given.
    :param limit: how many candidates at most.
    """
    left = node_filter.Sieve(nodes)
    specs = request.specs()
    _sift_free(left, request, owned)
    _sift_classes(left, request, specs)
    _sift_traits(left, request, specs)
    _sift_properties(left, requirements.of(request, specs))
    if admits is not None:
        left.keep(POLICIES, admits)
    left.sift(_states, judge)
    return Choice(
        candidates=sampling.some_of(left.nodes, request.instance_uuid, limit),
        examined=left.examined,
        fitting=len(left.nodes),
        removed=left.removed,
    )


def _sift_free(
    left: node_filter.Sieve,
    request: reservation_request.Request,
    owned: Container[str],
) -> None:
    if request.node is not None:
        wanted = request.node, request.node.lower()
        left.keep(NODE, lambda n: n.uuid in wanted or n.name == wanted[0])
    left.only(INSTANCE, [n for n in left.nodes if n.instance_uuid is None])
    if owned:
        left.only(OWNED, [n for n in left.nodes if n.uuid not in owned])


def _sift_classes(
    left: node_filter.Sieve,
    request: reservation_request.Request,
    specs: flavor_specs.FlavorSpecs,
) -> None:
    wanted = request.resource_class
    if wanted is not None:
        found = [n for n in left.nodes if n.resource_class == wanted]
        left.only(RESOURCE_CLASS, found)

    def judge(node: model.Node) -> str | None:
        # Nova cannot schedule to a node without a class, nor can Ironic.
        name = node.resource_class
        fits = name and specs.resource_class in (
            None,
            flavor_specs.normalised(name),
        )
        return None if fits else RESOURCE_CLASS

    left.sift(functools.partial(map, _CLASS), judge)


def _sift_traits(
    left: node_filter.Sieve,
    request: reservation_request.Request,
    specs: flavor_specs.FlavorSpecs,
) -> None:
    required = sorted({*request.traits, *specs.traits})
    forbidden = sorted({*request.forbidden_traits, *specs.forbidden_traits})

    def judge(node: model.Node) -> str | None:
        for name in required:
            if name not in node.traits:
                return TRAIT + name
        for name in forbidden:
            if name in node.traits:
                return FORBIDDEN_TRAIT + name
        return None

    if required or forbidden:
        left.sift(functools.partial(map, _TRAITS), judge)


def _sift_properties(
    left: node_filter.Sieve, required: Sequence[requirements.Requirement]
) -> None:
    if not required:
        return
    fields = sorted({f for one in required for f in one.fields})

    def judge(node: model.Node) -> str | None:
        for requirement in required:
            text = requirement.read(node.properties)
            if text is None or not requirement.fits(text):
                return requirement.name
        return None

    # Nodes of one scan share equal properties, unless each has its own.
    if len(set(_ids(left.nodes[:_SAMPLE]))) > _FEW:
        for alike in (_all_values(fields), _values(fields)):
            # One lacks a property, or has a list, which is like nothing else.
            with contextlib.suppress(KeyError, TypeError):
                left.sift(alike, judge)
                return
    left.sift(_ids, judge)


def _ids(nodes: Iterable[model.Node]) -> Iterable[Hashable]:
    return (id(n.properties) for n in nodes)


def _all_values(fields: Sequence[str]) -> node_filter.Alike:
    """Return what reads properties that every node has: the quickest way."""
    read = operator.itemgetter(*fields)
    return lambda nodes: map(read, map(_PROPERTIES, nodes))


def _values(fields: Sequence[str]) -> node_filter.Alike:
    reads = [operator.methodcaller('get', field) for field in fields]

    def alike(nodes: Iterable[model.Node]) -> Iterable[Hashable]:
        properties = list(map(_PROPERTIES, nodes))
        return zip(*(map(read, properties) for read in reads), strict=True)

    return alike


def _states(nodes: Iterable[model.Node]) -> Iterable[Hashable]:
    """Give all by which a node without an instance is judged available.

    Written out: to read the fields by their names takes twice as long.
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
