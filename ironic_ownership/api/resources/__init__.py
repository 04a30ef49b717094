"""The operations by kind of resource, one module each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MODULES: Mapping[str, Sequence[str]] = {
    'compute_node': ('compute_nodes', 'node_lists', 'node_changes'),
    'compute_node_record': ('node_lists',),
    'instance': ('node_changes',),
    'service': ('services', 'service_changes', 'moves'),
    'member': ('services',),
    'move': ('moves',),
    'shard': ('shards',),
    'event': ('events',),
    'pause': ('pauses',),
    'reservation': ('reservations',),
    'overview': ('check',),
    'check': ('check',),
    'ring': ('rings',),
    'policy': ('rings',),
    'node': ('check',),
}
"""The modules of each noun, in the order of the documentation."""
