"""hypothesis strategies for the nodes, records and services of a moment."""

from __future__ import annotations

import dataclasses

from hypothesis import strategies as st

from ironic_ownership.contracts import model
from tests.unit.engine import world

HOSTS = tuple(f'host{number}' for number in range(1, 6))
NODES = 10

SETTINGS = st.sampled_from(
    (
        world.ALL,
        world.RING,
        world.RING,
        world.runs(peer_list=('host1', 'host2')),
        world.runs(peer_list=('host1', 'host2', 'host3')),
        world.runs(all=None, peer_list=()),
        world.runs(shard_key='a'),
        world.runs(shard_key='b'),
        world.runs(shard_key='a', peer_list=()),
        world.runs(conductor_group='g'),
        world.runs(conductor_group='g', peer_list=()),
        world.runs(conductor_group='', shard_key='a'),
        world.runs(picky='ipmi'),
        world.runs(picky='ipmi', peer_list=()),
        world.runs(odd=None),
        world.RESERVING,
        world.UNKNOWN,
        world.NEWER,
    )
)


@dataclasses.dataclass
class Moment:
    """All that a decision depends on."""

    nodes: list[model.Node]
    records: dict[str, model.ComputeNode]
    members: list[model.Member]
    services: dict[str, model.Service]


_INSTANCES = st.sampled_from((None, None, None, 'i1', 'i2'))
_OWNERS = st.sampled_from((None, *HOSTS, 'stranger'))
_SELDOM = st.sampled_from((False, False, False, True))


def _record(
    number: int, host: str | None, instance: str | None, former: str | None
) -> model.ComputeNode:
    return world.record(number, host, instance, released_by=former)


@st.composite
def moments(draw, settings=SETTINGS) -> Moment:
    """Draw a moment; few settings at a time, so that services meet."""
    few = st.sampled_from(draw(st.lists(settings, min_size=1, max_size=3)))
    hosts = st.sampled_from(HOSTS)
    members = draw(st.dictionaries(hosts, st.tuples(few, st.integers(0, 3))))
    rows = draw(st.dictionaries(hosts, st.tuples(few, _SELDOM, _SELDOM)))
    drawn = draw(
        st.lists(
            st.tuples(
                st.sampled_from((None, 'a', 'b')),
                st.sampled_from(('', 'g')),
                st.sampled_from(('ipmi', 'redfish')),
                _INSTANCES,
                st.none() | st.tuples(_OWNERS, _INSTANCES, _OWNERS),
            ),
            min_size=1,
            max_size=NODES,
        )
    )
    return Moment(
        nodes=[
            world.node(
                number,
                shard=shard,
                conductor_group=group,
                driver=driver,
                instance_uuid=instance,
            )
            for number, (shard, group, driver, instance, _) in enumerate(drawn)
        ],
        records={
            world.uuid(number): _record(number, *on_record)
            for number, (*_, on_record) in enumerate(drawn)
            if on_record is not None
        },
        members=[
            world.member(host, runs, float(joined_at))
            for host, (runs, joined_at) in members.items()
        ],
        services={
            host: model.Service(
                host,
                epoch=1,
                disabled=disabled,
                forced_down=forced_down,
                settings=runs,
            )
            for host, (runs, disabled, forced_down) in rows.items()
        },
    )
