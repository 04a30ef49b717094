"""Internals of Nova on which the driver depends, checked at its start.

What ownership rests on has to be there, or the driver does not start. What
only saves work is replaced by Nova's plain way, with one line in the log.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from nova import baserpc, exception, version
from nova.compute import provider_tree, resource_tracker
from nova.objects import base, compute_node, service
from nova.virt.ironic import driver as ironic_driver
from oslo_log import log

LOG = log.getLogger(__name__)

TRIED = ('33', '34')
"""Releases of Nova that the tests of this driver run with.

Earlier ones cannot run nova-compute with native threads.
"""

THREADS = 'OS_NOVA_DISABLE_EVENTLET_PATCHING=true'
"""Variable by which Nova 33 has native threads, as 34 has by default."""

_REFRESH = '_refresh_cache'
_REQUIRED = {
    _REFRESH: 'replaced: the nodes come from the records',
    '_refresh_hash_ring': 'replaced: there is no ring in Nova',
    'ironic_connection': 'replaced: each write asks the guard',
    'get_available_nodes': 'replaced: only own nodes are offered',
    'node_is_available': 'replaced: skips nodes that have not changed',
    'is_node_deleted': 'replaced: Nova does not delete records',
    '_validate_instance_and_node': 'called: finds the node of an instance',
}
CALLED: tuple[tuple[Any, str], ...] = (
    (baserpc.BaseAPI, 'ping'),
    (base, 'obj_equal_prims'),
    (compute_node.ComputeNodeList, 'get_all_by_uuids'),
    (provider_tree.ProviderTree, 'data'),
    (service.Service, 'get_by_host_and_binary'),
)
"""Functions of Nova that the driver calls, with their owners."""
TRACKER = (
    *('compute_nodes', 'old_resources', 'provider_tree'),
    *('remove_node', 'reportclient', 'service_ref', 'stats'),
)
"""Names of the resource tracker."""
CLIENT = ('invalidate_resource_provider',)
"""Names of Nova's client of Placement."""
TREE_READERS = (
    'get_provider_subtree_and_ensure_root',
    'get_provider_tree_and_ensure_root',
)
"""The one that copies less first, which is new in Nova 34."""
WAIT = '_wait_for_in_progress_tasks'
"""Method of the manager, new in Nova 34."""
_LONGEST_WAIT = 20
"""Seconds that Nova leaves for the driver when it ends."""
_READ_BY = ('list_instance_uuids', 'get_available_resource', 'get_info')
"""Methods of Nova that read the cache, and fill it by :data:`_REFRESH`."""


@dataclasses.dataclass(frozen=True)
class Shortcuts:
    """Internals of Nova that may be used to save work.

    :param tracker: the resource tracker.
    :param read_tree: reads what Placement has of a node, where a pass ends
        for a node of which ``node_is_available`` says no, before it costs
        anything: then a pass can be skipped.
    """

    tracker: Any = None
    read_tree: Callable[..., Any] | None = None


def missing() -> list[str]:
    """List what ownership rests on and this Nova does not have."""
    plain = ironic_driver.IronicDriver
    faults = [
        f'IronicDriver.{name} ({why})'
        for name, why in _REQUIRED.items()
        if not hasattr(plain, name)
    ]
    faults += [
        f'IronicDriver.{name} (reads node_cache, filled by {_REFRESH})'
        for name in _READ_BY
        if not {'node_cache', _REFRESH} <= _attributes(plain, name)
    ]
    faults += [
        f'{owner.__name__}.{name} (called)'
        for owner, name in CALLED
        if not hasattr(owner, name)
    ]
    return faults


def _runs_on_eventlet() -> bool:
    """Tell whether the threads of this process are those of eventlet."""
    patcher = sys.modules.get('eventlet.patcher')
    return patcher is not None and bool(patcher.is_monkey_patched('thread'))


def require() -> None:
    """Check what ownership rests on.

    :raises InvalidConfiguration: naming all that is missing.
    """
    release = version.version_string()
    if int(release.split('.')[0]) < int(TRIED[0]):
        raise exception.InvalidConfiguration(
            f'ironic-ownership-nova needs Nova {TRIED[0]} or later, where '
            f'nova-compute can run with native threads; this is {release}'
        )
    if _runs_on_eventlet():
        LOG.warning(
            'nova-compute runs on eventlet: a call that blocks it for longer '
            'than [membership] member_ttl ends the membership of its '
            'service. Native threads avoid that: set %s in its environment',
            THREADS,
        )
    faults = missing()
    if faults:
        raise exception.InvalidConfiguration(
            'ironic-ownership-nova does not work with this release of Nova, '
            f'which lacks: {", ".join(faults)}'
        )


def shortcuts(virtapi: Any, wanted: bool) -> Shortcuts:
    """Find out which internals can be used, and log those that cannot.

    :param virtapi: as Nova gives it to the driver.
    :param wanted: the option ``shortcuts``.
    """
    if not wanted:
        LOG.info('shortcuts are switched off: each pass updates all nodes')
        return Shortcuts()
    tracker, read_tree = tracker_of(virtapi), None
    if tracker is not None and skips_early():
        read_tree = tree_reader(tracker.reportclient)
    if tracker is None:
        LOG.warning(
            'the resource tracker of this Nova cannot be reached: gained '
            'nodes wait for the next pass'
        )
    if read_tree is None:
        LOG.warning(
            'this Nova updates resources in another order, or does not show '
            'what Placement has: each pass updates all nodes'
        )
    return Shortcuts(tracker, read_tree)


def tracker_of(virtapi: Any) -> Any:
    """Return the resource tracker; ``None`` if it can't be reached."""
    found = getattr(getattr(virtapi, '_compute', None), 'rt', None)
    client = getattr(found, 'reportclient', None)
    if all(hasattr(found, name) for name in TRACKER) and all(
        hasattr(client, name) for name in CLIENT
    ):
        return found
    return None


def tree_reader(client: Any) -> Callable[..., Any] | None:
    """Return the method that reads the providers of a node.

    :param client: of Placement.
    :returns: ``None`` if it has another name for it.
    """
    found = (getattr(client, name, None) for name in TREE_READERS)
    return next(filter(None, found), None)


def finish_operations(virtapi: Any) -> None:
    """Wait for operations that began while Nova stopped to take requests.

    Before Nova 34 it waits for them itself, before it calls the driver.
    """
    wait = getattr(getattr(virtapi, '_compute', None), WAIT, None)
    if wait is not None:
        wait(_LONGEST_WAIT)


def skips_early() -> bool:
    """Tell whether a pass asks ``node_is_available`` before it costs anything.

    In ``_update_available_resource``, right after ``_init_compute_node``, and
    in ``disabled``.
    """
    tracker = resource_tracker.ResourceTracker
    asks = 'node_is_available' in _attributes(tracker, 'disabled')
    body = _statements(tracker, '_update_available_resource')
    # Before it only the row is read; between the two a name is assigned.
    steps = [part for part in body if _calls(part)]
    return (
        asks
        and len(steps) > 1
        and '_init_compute_node' in _names(steps[0])
        and isinstance(steps[1], ast.If)
        and 'disabled' in _names(steps[1].test)
        and isinstance(steps[1].body[0], ast.Return)
    )


def _statements(owner: type, name: str) -> list[ast.stmt]:
    method = inspect.unwrap(getattr(owner, name))
    tree = ast.parse(textwrap.dedent(inspect.getsource(method)))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    return function.body


def _attributes(owner: type, name: str) -> set[str]:
    if not hasattr(owner, name):
        return set()
    return {
        found for part in _statements(owner, name) for found in _names(part)
    }


def _names(tree: ast.AST) -> set[str]:
    return {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}


def _calls(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.Call) for node in ast.walk(tree))
