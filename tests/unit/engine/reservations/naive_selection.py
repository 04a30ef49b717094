"""Naive reference of the selection: evaluates node by node."""

from __future__ import annotations

from collections.abc import Callable, Container

from oslo_utils import specs_matcher

from ironic_ownership.contracts import flavor_specs, model
from ironic_ownership.contracts.reservations import Request

ARCHITECTURES = {'amd64': 'x86_64'}


def missed(
    request: Request,
    node: model.Node,
    evaluate: Callable[[model.Node], str | None],
    owned: Container[str],
) -> str | None:
    """Return the first condition that a node misses."""
    specs = request.specs()
    if request.node not in (None, node.uuid, node.name):
        return 'node'
    if node.instance_uuid is not None:
        return 'instance'
    if node.uuid in owned:
        return 'owned'
    return (
        _missed_class(request, specs, node.resource_class)
        or _missed_trait(request, specs, node)
        or _missed_property(request, specs, node)
        or evaluate(node)
    )


def _missed_class(
    request: Request, specs: flavor_specs.FlavorSpecs, name: str | None
) -> str | None:
    if (
        not name
        or request.resource_class not in (None, name)
        or specs.resource_class not in (None, flavor_specs.normalised(name))
    ):
        return 'resource_class'
    return None


def _missed_trait(
    request: Request, specs: flavor_specs.FlavorSpecs, node: model.Node
) -> str | None:
    for name in sorted({*request.traits, *specs.traits}):
        if name not in node.traits:
            return f'trait:{name}'
    for name in sorted({*request.forbidden_traits, *specs.forbidden_traits}):
        if name in node.traits:
            return f'forbidden_trait:{name}'
    return None


def _missed_property(
    request: Request, specs: flavor_specs.FlavorSpecs, node: model.Node
) -> str | None:
    has = node.properties
    memory = specs.amounts.get('memory_mb', request.memory_mb)
    if memory and not _number(has.get('memory_mb')) >= memory:
        return 'memory_mb'
    vcpus = specs.amounts.get('vcpus', request.vcpus)
    if vcpus and not _number(has.get('cpus')) >= vcpus:
        return 'vcpus'
    disk = 1024 * (request.root_gb + request.ephemeral_gb) + request.swap
    if 'disk_gb' in specs.amounts:
        disk = 1024 * specs.amounts['disk_gb']
    if disk and not _number(has.get('local_gb')) * 1024 >= disk:
        return 'disk_gb'
    if specs.architecture is not None:
        wanted, own = (
            ARCHITECTURES.get(str(name).lower(), str(name).lower())
            for name in (specs.architecture, has.get('cpu_arch'))
        )
        if wanted != own:
            return 'architecture'
    capabilities = dict(
        pair.split(':', 1)
        for pair in str(has.get('capabilities') or '').split(',')
        if ':' in pair
    )
    for name, spec in specs.capabilities:
        value = capabilities.get(name)
        if name in ('cpu_arch', 'cpus') and name not in capabilities:
            value = has.get(name)
        if value is None or not _matches(str(value), spec):
            return f'capabilities:{name}'
    return None


def _matches(value: str, spec: str) -> bool:
    if spec == '':
        return value not in ('', 'false')
    try:
        return specs_matcher.match(value, spec)
    except (ValueError, TypeError, SyntaxError):
        return False


def _number(value: object) -> float:
    try:
        return float(int(value) if value is True else str(value))
    except ValueError:
        return float('nan')
