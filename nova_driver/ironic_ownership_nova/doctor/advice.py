"""Effects of each fault in Nova, and its repair by ironic-ownership.

What Nova does was read in its releases 31 to 34.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Advice:
    """The meaning of a fault.

    :param nova: what Nova does about it.
    :param repair: what changes with the move to ironic-ownership, and by
        which command.
    """

    nova: str
    repair: str


_LEFT_OUT = (
    '"ironic-ownership nova adopt" leaves the node out until it is corrected.'
)
_LATER = (
    'After the adoption, "ironic-ownership check" reports it all the time.'
)
_OWNED = (
    'Records have one owner for each node, and every change of owner also '
    'updates the row, in one transaction.'
)

ADVICE: Mapping[str, Advice] = {
    'duplicate_rows': Advice(
        'Each service finds the row that has the uuid of the node. The other '
        'row is never updated, and while it has a provider the scheduler may '
        'choose it.',
        f'{_LEFT_OUT} {_OWNED}',
    ),
    'uuid_differs': Advice(
        'A service looks for the row by the uuid of the node. It does not '
        'see this one, and fails to create another one on the same host.',
        f'{_LEFT_OUT} {_LATER}',
    ),
    'case_twins': Advice(
        'Rings ignore the case of a name, and peer_list does not: such a '
        'service counts as a peer in one place only, and part of the nodes '
        'is served by no service.',
        'A host has one name in any case, and "ironic-ownership nova '
        'adopt" brings the rows into one spelling.',
    ),
    'no_service': Advice(
        'No service updates the row, and the scheduler skips it with a '
        'warning. A service that lists the node as free takes the row over.',
        f'{_LEFT_OUT} Once it has a record, "ironic-ownership compute node '
        'move" gives it to any live service.',
    ),
    'service_id_differs': Advice(
        'Nova corrects the id when the service updates the row.',
        '"ironic-ownership nova adopt" writes it.',
    ),
    'half_moved': Advice(
        'Requests for the server go to the service of the instance, while '
        'the service of the row reports the node to Placement. Nova does not '
        'correct this, and "nova-manage db ironic_compute_node_move" '
        'cannot be repeated.',
        f'{_LEFT_OUT} Later, "ironic-ownership compute node move" changes '
        'row and instance in one transaction, which leaves no such state.',
    ),
    'double_instances': Advice(
        'Nova refuses to move the node, and each of the servers acts on '
        'the node that Ironic has for it.',
        _LEFT_OUT,
    ),
    'service_down': Advice(
        'A ring gives its free nodes to its live peers; those of a shard '
        'wait. Its instances keep running, and no service can manage them '
        'until it is back.',
        'Once it is stopped, "ironic-ownership service set HOST --down" and '
        '"ironic-ownership service drain HOST" move all of its nodes with '
        'their instances, after gates. A second nova-compute of the same '
        'host can stand by and take over.',
    ),
    'row_orphaned': Advice(
        'A live service deletes row, provider and allocations in its next '
        'pass. The row of a dead service stays for ever.',
        'The owner deletes records of nodes for which Ironic answers 404, '
        'after gates, also those that it took over from a dead service.',
    ),
    'node_unserved': Advice(
        'The scheduler does not know the node. Nova reports nothing.',
        '"ironic-ownership check" reports nodes that no service admits, and '
        '"ironic-ownership compute node explain" gives the reason.',
    ),
    'instance_unknown': Advice(
        'Every service leaves the node to the service of that instance, so '
        'none reports it, and nothing is scheduled to it.',
        'The record shows the instance; the next refresh of its owner closes '
        'it once Ironic has none.',
    ),
    'instance_elsewhere': Advice(
        'Operations act on the node that Ironic has for the server, and '
        'resources are counted on the other one.',
        'The driver refuses to act on the wrong node, and "ironic-ownership '
        'check" reports it.',
    ),
    'instance_lost': Advice(
        'Operations on the server fail with InstanceNotFound, and the node '
        'counts as free but for its allocation.',
        'A move of the node is refused by the gate instance_agrees until it '
        'is corrected.',
    ),
    'instance_without_node': Advice(
        'The server cannot be managed. Its service logs an error in each '
        'pass.',
        'None: no node is left to own.',
    ),
    'provider_orphaned': Advice(
        'Nova does not look for it. While it has inventory the scheduler '
        'receives it as a candidate, and finds no host for it.',
        'None for those that exist. Deletions of ironic-ownership remove '
        'record, row and provider together.',
    ),
    'provider_duplicate': Advice(
        'The provider that has the uuid of the node is used. The other one '
        'is never updated, and keeps its allocations.',
        'None for those that exist. A node keeps its uuid, so that no '
        'second one is made.',
    ),
    'provider_uuid_differs': Advice(
        'Nova cannot create the right provider, because names are unique: '
        'each pass fails with ResourceProviderCreationFailed, and nothing is '
        'scheduled to the node.',
        'None for those that exist. A node keeps its uuid, so that no '
        'second one is made.',
    ),
    'provider_missing': Advice(
        'Nothing is scheduled to the node until a pass creates one.',
        'The first pass after the adoption reports every node.',
    ),
    'shared_without_ring': Advice(
        'Each of them takes every free node of the shard or group for its '
        'own, and rewrites the rows of the others in its passes.',
        'The record of a node has one owner, which keeps it; "ironic-'
        'ownership check" reports services that admit the same nodes.',
    ),
    'peer_lists_differ': Advice(
        'Each service computes its own ring: some free nodes are taken by '
        'two services in turn, others by none.',
        'Members advertise their settings, so all compute one ring. Leave '
        'peer_list empty and it follows the live services.',
    ),
    'deployed_out_of_scope': Advice(
        'The service does not list the node any more. Its row is not '
        'updated, and each pass warns about an orphan.',
        '"ironic-ownership compute node move" gives node and instance to '
        'the service that admits it, once the other one is stopped.',
    ),
    'ironic_incomplete': Advice('', ''),
}
