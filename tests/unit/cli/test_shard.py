"""``shard plan``: one table; each move is resumed as any other."""

from __future__ import annotations

from ironic_ownership.backends import memory
from tests.unit.cli import command_case
from tests.unit.cli.command_case import Change, RowCase
from tests.unit.engine import world


def two_shards(case: RowCase) -> None:
    """``west`` owns nodes 11 to 18 in shard w; ``east`` has shard e."""
    nodes = [
        world.node(number, name=f'node{number}', shard='w')
        for number in range(11, 19)
    ]
    case.ironic.put(*nodes)
    for host in ('west', 'east'):
        settings = world.advertised(world.runs(shard_key=host[0]), 0.0)
        memory.MemoryBackend(
            {}, member_ttl=3600, call_timeout=5, store=case.backend._store
        ).join(host, host, settings)
        epoch = case.records.register(host, settings, incarnation=host)
        if host == 'west':
            case.claim(host, epoch, *nodes)


def east_is_disabled(case: RowCase) -> None:
    two_shards(case)
    case.records.set_service('east', actor='x', disabled=True)


def east_does_not_refresh(case: RowCase) -> None:
    two_shards(case)
    case.hurry_trials()


PLAN = 'shard plan'


class ShardsTest(command_case.ChangeCase):
    rows = {
        two_shards: (
            Change(
                PLAN,
                shown={
                    'shard_before': ['w'] * 4,
                    'shard_after': ['e'] * 4,
                    'source': ['west'] * 4,
                    'destination': ['east'] * 4,
                    'state': ['planned'] * 4,
                },
                said=(
                    'w: 8 -> 4 nodes, weight 1, west',
                    'e: 0 -> 4 nodes, weight 1, east',
                    '6 nodes left out: owned by a service without',
                    '4 moves; these shares need at least 4',
                ),
            ),
            Change(
                f'{PLAN} --weight WEST=0 --apply --yes',
                leaves='8 node_handed_over, 8 node_moved',
                shown={'state': ['moved'] * 8, 'shard_after': ['e'] * 8},
            ),
            Change(
                f'{PLAN} --weight east=3 --max-moves 2 --apply',
                0,
                'move the nodes: 2 to e',
                '2 node_handed_over, 2 node_moved',
                shown={'state': ['moved'] * 2},
            ),
            Change(
                f'{PLAN} --weight east=0 --apply --yes', shown={'state': []}
            ),
        ),
        east_is_disabled: (
            Change(
                f'{PLAN} --weight east=1 --apply --yes',
                3,
                shown={'state': ['refused'] * 4},
                said=('destination_enabled: 4 of 4',),
            ),
        ),
        east_does_not_refresh: (
            Change(
                f'{PLAN} --apply --trial 2 --yes',
                3,
                leaves='4 node_handed_over, 4 node_moved',
                shown={'state': ['refused'] * 4},
                said=('2 nodes went back',),
            ),
        ),
    }
