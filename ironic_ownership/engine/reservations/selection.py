"""Selection of the nodes that fit a request, with counts of the others.

Pure, and no guarantee: a node may be taken before it is reserved, which
Ironic decides.

100,000 nodes take a tenth of a second of CPU, because each condition is
evaluated once for each distinct value. Concurrent requests for different
instances start at different nodes, so that they do not compete for the same.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import hashlib
import operator
from collections.abc import (
    Callable,
    Container,
    Hashable,
    Iterable,
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

_FEW = 1000
"""Number of distinct properties that may be evaluated one by one."""

_SAMPLE = 2 * _FEW
_WIDTH = 2
_TAILS = tuple(f'{number:02x}' for number in range(16**_WIDTH))
_CLASS = operator.attrgetter('resource_class')
_TRAITS = operator.attrgetter('traits')
_PROPERTIES = operator.attrgetter('properties')
_STATE = operator.attrgetter(
    'driver',
    'conductor_group',
    'provision_state',
    'target_provision_state',
    'power_state',
    'target_power_state',
    'maintenance',
    'retired',
    'reservation',
)
"""Returns the fields that decide about the availability of a free node."""

_Key = Callable[[Iterable[model.Node]], Iterable[Hashable]]
"""Returns a key for each node; nodes with equal keys are evaluated once."""


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


class _NodeFilter:
    """The remaining nodes, and the number that each condition removed.

    Fast because equal nodes are evaluated once, and are found again without
    running Python code for each node.
    """

    def __init__(self, request: Request, nodes: Iterable[model.Node]) -> None:
        self.request, self.specs = request, request.specs()
        self.nodes = list(nodes)
        self.examined = len(self.nodes)
        self.removed: collections.Counter[str] = collections.Counter()

    def keep(self, condition: str, fits: Callable[[model.Node], bool]) -> None:
        kept = list(filter(fits, self.nodes))
        if len(kept) < len(self.nodes):
            self.removed[condition] += len(self.nodes) - len(kept)
            self.nodes = kept

    def filter(
        self, key_of: _Key, evaluate: Callable[[model.Node], str | None]
    ) -> None:
        """Evaluate one node of each key, and keep those that fit.

        Errors of ``key_of`` are raised before anything has changed.

        :param evaluate: returns the condition that a node fails, or ``None``.
        """
        one_of_each = dict(zip(key_of(self.nodes), self.nodes, strict=True))
        failed = {key: evaluate(node) for key, node in one_of_each.items()}
        if not any(failed.values()):
            return
        results = [failed[key] for key in key_of(self.nodes)]
        counts = collections.Counter(results)
        del counts[None]
        for condition in sorted(filter(None, counts)):
            self.removed[str(condition)] += counts[condition]
        self.nodes = [
            node
            for node, result in zip(self.nodes, results, strict=True)
            if result is None
        ]

    def filter_free(self, owned: Container[str]) -> None:
        request = self.request
        if request.node is not None:
            wanted = request.node, request.node.lower()
            self.keep(NODE, lambda n: n.uuid in wanted or n.name == wanted[0])
        self.keep(INSTANCE, lambda n: n.instance_uuid is None)
        if owned:
            self.keep(OWNED, lambda n: n.uuid not in owned)

    def filter_classes(self) -> None:
        wanted = self.request.resource_class
        if wanted is not None:
            self.keep(RESOURCE_CLASS, lambda n: n.resource_class == wanted)

        def evaluate(node: model.Node) -> str | None:
            # Neither Nova nor Ironic can schedule to a node without a class.
            name = node.resource_class
            fits = name and self.specs.resource_class in (
                None,
                flavor_specs.normalised(name),
            )
            return None if fits else RESOURCE_CLASS

        self.filter(functools.partial(map, _CLASS), evaluate)

    def filter_traits(self) -> None:
        request, specs = self.request, self.specs
        required = sorted({*request.traits, *specs.traits})
        forbidden = sorted(
            {*request.forbidden_traits, *specs.forbidden_traits}
        )

        def evaluate(node: model.Node) -> str | None:
            for name in required:
                if name not in node.traits:
                    return TRAIT + name
            for name in forbidden:
                if name in node.traits:
                    return FORBIDDEN_TRAIT + name
            return None

        if required or forbidden:
            self.filter(functools.partial(map, _TRAITS), evaluate)

    def filter_properties(self) -> None:
        required = [*requirements.of(self.request, self.specs)]
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
        if len(set(_ids(self.nodes[:_SAMPLE]))) > _FEW:
            # The first is twice as fast, where no node lacks a property.
            for key_of in (_all_values(fields), _values(fields)):
                # A node lacks a property, or has a list: not hashable.
                with contextlib.suppress(KeyError, TypeError):
                    self.filter(key_of, evaluate)
                    return
        self.filter(_ids, evaluate)


def choose(
    request: Request,
    nodes: Iterable[model.Node],
    evaluate: Callable[[model.Node], str | None],
    *,
    owned: Container[str] = frozenset(),
    admits: Callable[[model.Node], bool] | None = None,
) -> Choice:
    """Choose among nodes.

    The candidates and their order depend only on the nodes and the instance,
    see ``sampling``.

    :param evaluate: returns the code why nothing can be scheduled to a node,
        or ``None``. Called only for nodes without an instance, and once for
        nodes that are equal in :data:`_STATE`.
    :param owned: uuids of nodes that are owned or held already.
    :param admits: whether the service's policies admit a node; by default
        all.
    """
    remaining = _NodeFilter(request, nodes)
    remaining.filter_free(owned)
    remaining.filter_classes()
    remaining.filter_traits()
    remaining.filter_properties()
    if admits is not None:
        remaining.keep(POLICIES, admits)
    remaining.filter(functools.partial(map, _STATE), evaluate)
    return Choice(
        candidates=sample(remaining.nodes, request.instance_uuid, LIMIT),
        examined=remaining.examined,
        fitting=len(remaining.nodes),
        removed=dict(remaining.removed),
    )


def _ids(nodes: Iterable[model.Node]) -> Iterable[Hashable]:
    return (id(n.properties) for n in nodes)


def _all_values(fields: Sequence[str]) -> _Key:
    read = operator.itemgetter(*fields)
    return lambda nodes: map(read, map(_PROPERTIES, nodes))


def _values(fields: Sequence[str]) -> _Key:
    reads = [operator.methodcaller('get', field) for field in fields]

    def key_of(nodes: Iterable[model.Node]) -> Iterable[Hashable]:
        properties = list(map(_PROPERTIES, nodes))
        return zip(*(map(read, properties) for read in reads), strict=True)

    return key_of


def sample(
    nodes: Sequence[model.Node], instance_uuid: str, limit: int
) -> tuple[model.Node, ...]:
    """Return at most ``limit`` nodes of one resource class.

    They are ordered by a hash with the instance's uuid.
    """

    def rank(text: str) -> bytes:
        return hashlib.blake2b(
            text.encode(), key=instance_uuid.encode()[:64], digest_size=8
        ).digest()

    ranked = sorted(
        _preselect(nodes, rank, 4 * limit),
        key=lambda n: (rank(n.uuid), n.uuid),
    )
    same = [n for n in ranked if n.resource_class == ranked[0].resource_class]
    return tuple(same[:limit])


def _preselect(
    nodes: Sequence[model.Node], rank: Callable[[str], bytes], minimum: int
) -> Sequence[model.Node]:
    """Return at least a minimum of the nodes, or all if there are few.

    Selects by the last digits of the uuids: hashing each of 100,000 nodes
    would take longer than all the conditions.
    """
    tails = sorted(_TAILS, key=rank)
    share = len(_TAILS) * minimum // max(1, len(nodes)) + 1
    while share < len(_TAILS):
        chosen = set(tails[:share])
        found = [n for n in nodes if n.uuid[-_WIDTH:] in chosen]
        if len(found) >= minimum:
            return found
        share *= 4
    return nodes
