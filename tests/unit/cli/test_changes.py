"""Commands that change something: one table for each kind of thing."""

from __future__ import annotations

from unittest import mock

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.bare_metal import Enforcement
from ironic_ownership.contracts.records import Update
from ironic_ownership.db.records import SqlRecords
from tests.contract.suites import placement
from tests.unit.cli import command_case
from tests.unit.cli.command_case import Change, RowCase, nothing
from tests.unit.engine import world

ONE, TWO = world.uuid(1), world.uuid(2)
INSTANCE = world.uuid(901)
CHANGED, BEGAN = '1 service_changed', '1 pause_began'
PASSED = {'passed': [True] * 3}
REFUSED = {'result': ['refused']}
WOULD_DELETE = {'result': ['would_delete']}
DELETE = 'compute node delete'
RELEASE = 'compute node release'
ORDER = 'service set OLD --take-over-deployed'


def idle(case: RowCase) -> None:
    """``idle`` is stopped and owns nothing."""
    case.records.register('idle', world.ALL)


def disabled(case: RowCase) -> None:
    idle(case)
    case.records.set_service(
        'idle', actor='x', disabled=True, disabled_reason='new fans'
    )


def down(case: RowCase) -> None:
    idle(case)
    case.records.set_service('idle', actor='x', forced_down=True)


def not_confirmed(case: RowCase) -> None:
    idle(case)
    case.stdin.readline.return_value = 'n\n'


def used_since(case: RowCase) -> None:
    """Claim a node between the proposal and the deletion."""
    idle(case)
    error = exceptions.ServiceInUseError('idle', 1, 0)
    case.enterContext(
        mock.patch.object(SqlRecords, 'delete_service', side_effect=error)
    )


def enforced(case: RowCase) -> None:
    case.wired.shared_key = 'k' * 32
    case.ironic.middleware = Enforcement.ENFORCED


class ServicesTest(command_case.ChangeCase):
    rows = {
        idle: (
            Change(
                'service set IDLE --disable --disable-reason " new  fans "',
                0,
                'Disable service idle',
                CHANGED,
                shown={
                    'dry_run': [False],
                    'status': ['disabled'],
                    'disabled_reason': ['new fans'],
                    'changed': [['disabled', 'disabled_reason']],
                },
            ),
            (
                'service set idle --disable --down --reason fire',
                0,
                'Disable and force down',
                '1 service_forced_down',
            ),
            ('service set idle --down --dry-run',),
            Change('service delete idle --dry-run', shown=PASSED),
            Change(
                'service delete idle',
                0,
                'Delete service idle',
                '1 service_deleted',
                shown=PASSED,
            ),
            Change(
                'service failover idle',
                3,
                shown={
                    'from_incarnation': [None],
                    'to_incarnation': [None],
                    'done': [False],
                },
            ),
        ),
        disabled: (
            Change(
                'service set idle --disable --disable-reason "new fans"',
                shown={'changed': [[]]},
            ),
            (
                'service set idle --disable --disable-reason fans',
                0,
                'Change the disable',
                CHANGED,
            ),
            ('service set idle --enable', 0, 'Enable service idle', CHANGED),
        ),
        down: (
            ('service set idle --up', 0, 'End the forced-down state', CHANGED),
        ),
        nothing: (
            Change(
                f'{ORDER}-after 60 --reason x --yes',
                3,
                said=('ironic-ownership-middleware',),
            ),
            ('service set old --no-take-over-deployed --whole-scope -y',),
            ('service delete old --dry-run', 3),
            Change('service delete old', 3, said=('by: no_compute_nodes',)),
            ('service failover new', 3),
            Change(
                'service failover new --to x',
                3,
                shown={'done': [False], 'dry_run': [False]},
                said=('refused by standby_alive',),
            ),
        ),
        enforced: (
            (
                f'{ORDER}-after 60 --reason x',
                0,
                'Give a standing order to',
                CHANGED,
            ),
        ),
        not_confirmed: (
            Change(
                'service delete idle',
                1,
                'Delete service idle',
                said=('not confirmed: nothing was changed',),
            ),
        ),
        used_since: (Change('service delete idle --yes', 3, shown=PASSED),),
    }


def node_is_gone(case: RowCase) -> None:
    """Ironic does not have node 1 of ``old`` any more."""
    del case.ironic.nodes[ONE]
    uuids = map(world.uuid, range(1, 7))
    case.wired.placement = placement.FakePlacement(uuids)


def instances(case: RowCase) -> None:
    """Nodes 1 and 2 of ``old`` have instances; Ironic lost node 1."""
    for number in (1, 2):
        instance = world.uuid(900 + number)
        node = case.change_node(number, instance_uuid=instance)
        case.records.apply('old', case.epoch, [Update(node)])
    del case.ironic.nodes[ONE]


def instance_since(case: RowCase) -> None:
    instances(case)
    late = mock.patch.object(
        SqlRecords, 'forget_instance', return_value='the cell has it'
    )
    case.enterContext(late)


def node_is_used(case: RowCase) -> None:
    case.change_node(2, instance_uuid=world.uuid(902))


def released(case: RowCase) -> None:
    case.outcome(*case.find(f'{RELEASE} {ONE} --yes'))


def ironic_is_down(case: RowCase) -> None:
    case.ironic.fail_with = exceptions.IronicUnavailableError('down')


class NodesTest(command_case.ChangeCase):
    """``old`` owns nodes that ``new`` admits as well."""

    rows = {
        node_is_gone: (
            Change(
                f'compute node check-delete {TWO} node1',
                3,
                shown={'name': ['node2'] * 6 + ['node1'] * 6},
            ),
            ('compute node check-delete node1',),
            Change(
                f'{DELETE} node2 {ONE.upper()} --dry-run',
                3,
                shown={'result': ['refused', 'would_delete']},
            ),
            *(
                Change(f'{DELETE} {uuid} --dry-run', shown=WOULD_DELETE)
                for uuid in (
                    ONE.replace('-', ''),
                    f'{{{ONE}}}',
                    f'urn:uuid:{ONE}',
                    f'{{{ONE}}} node1',
                )
            ),
            Change(
                f'{DELETE} node1 node2 --reason CHG-42',
                3,
                'Delete compute node node1',
                '1 node_forgotten',
                shown={'result': ['deleted', 'refused']},
            ),
            Change(f'{DELETE} node2', 3, shown=REFUSED),
            Change(f'{DELETE} node2 --yes', 3, shown=REFUSED),
            Change(
                f'{DELETE} node9 {world.uuid(9)} node1 --yes',
                1,
                said=('node9', 'node6', world.uuid(9), world.uuid(6)),
            ),
            Change(f'{RELEASE} {ONE} --yes', 3, shown=REFUSED),
        ),
        instances: (
            *(
                Change(
                    f'instance forget {named} --reason x --dry-run',
                    shown={'node': [ONE], 'result': ['would_forget']},
                )
                for named in (ONE, INSTANCE, 'node1')
            ),
            Change(
                f'instance forget {INSTANCE} node2 --reason x --dry-run',
                3,
                shown={'node': [ONE, TWO]},
            ),
            Change(
                f'instance forget {ONE} {TWO} --reason scrapped',
                3,
                f'Forget the instance {INSTANCE}',
                '1 instance_forgotten',
                shown={'node': [ONE, TWO], 'result': ['forgotten', 'refused']},
            ),
            Change(
                f'instance forget {TWO} --reason scrapped --yes',
                3,
                shown={'failed_gates': [['node_is_gone']]},
            ),
        ),
        instance_since: (
            Change(
                f'instance forget {ONE} --reason scrapped --yes',
                3,
                shown={'evidence': ['the cell has it']},
            ),
        ),
        nothing: (
            Change(
                f'{RELEASE} node1 --dry-run',
                shown={'uuid': [ONE], 'result': ['would_release']},
            ),
        ),
        node_is_used: (
            Change(
                f'{RELEASE} {ONE} node2 --reason CHG-42',
                3,
                'Release compute node node1',
                '1 node_handed_over',
                shown={'uuid': [ONE, TWO], 'result': ['released', 'refused']},
            ),
        ),
        released: (
            Change(f'{RELEASE} {ONE} --yes', shown={'result': ['unchanged']}),
        ),
        ironic_is_down: ((f'{RELEASE} node1 --dry-run', 3),),
    }


PAUSE = 'pause --for 10m --reason cables --yes'


def new_shard(case: RowCase) -> None:
    case.ironic.put(world.node(7, shard='new'))


def paused(case: RowCase) -> None:
    case.outcome(*case.find(PAUSE))


def place_is_paused(case: RowCase) -> None:
    case.outcome(*case.find(f'{PAUSE} --shard a --conductor-group ""'))


class PausesTest(command_case.ChangeCase):
    rows = {
        nothing: (
            Change(PAUSE, leaves=BEGAN),
            (f'{PAUSE} --shard a --dry-run',),
            Change('resume', shown={'shard': []}),
        ),
        ironic_is_down: (Change(f'{PAUSE} --shard a', leaves=BEGAN),),
        new_shard: (
            Change(
                f'{PAUSE} --shard new',
                4,
                leaves=BEGAN,
                said=("nodes of shard 'new' are not on record",),
            ),
        ),
        paused: (
            Change('service list', said=('are paused for all nodes until',)),
            ('resume', 0, 'Resume automatic changes', '1 pause_ended'),
        ),
        place_is_paused: (
            Change(
                'service list',
                said=("for nodes of shard 'a' and conductor group '' until",),
            ),
        ),
    }
