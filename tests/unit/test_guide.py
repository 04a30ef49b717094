"""The examples of the plugin author's guide keep the contract."""

import collections
import dataclasses
import inspect
import sys
import tempfile
import textwrap
import unittest

from ironic_ownership import contracts
from ironic_ownership_plugin_kit import policy
from tests.unit.checkout import CONTRIBUTOR

_EXAMPLES = CONTRIBUTOR / 'examples'
# Another process has to be able to import them, too.
sys.path.append(str(_EXAMPLES))

import building  # noqa: E402 - from that directory
import member_weights  # noqa: E402 - from that directory
import racks  # noqa: E402 - from that directory
import weights  # noqa: E402 - from that directory
import zone_racks  # noqa: E402 - from that directory

HOSTS = ('host1', 'host2', 'host3')


def _node(number: int, **values: object) -> contracts.Node:
    uuid = f'00000000-0000-4000-8000-{number:012d}'
    return contracts.Node(uuid=uuid, **values)  # type: ignore[arg-type]


class TestBuilding(policy.FilterPolicyContract):
    """The filter of the guide."""

    policy_class = building.BuildingPolicy
    settings = ({'building': 'B0'}, {'building': 'b1', 'group': 'G1'})

    def nodes(self) -> list[contracts.Node]:
        """Return nodes of buildings, and what is none."""
        return [
            _node(number, extra=extra, conductor_group=group)
            for number, (extra, group) in enumerate(
                (extra, group)
                for extra in ({}, {'building': ' B1'}, {'building': ['b1']})
                for group in ('', 'g1')
            )
        ]

    def test_building_and_group_are_both_asked(self) -> None:
        """Both have to fit."""
        one = building.BuildingPolicy({'building': 'b1', 'group': 'g1'})
        self.assertEqual(
            [False, False, False, True, False, False],
            [one.admits(node) for node in self.nodes()],
        )


class TestRacks(policy.AssignerPolicyContract):
    """The assigner of the guide."""

    policy_class = racks.RackPolicy

    def test_nodes_of_one_rack_have_one_owner(self) -> None:
        """Each service has some of the racks."""
        nodes = [
            _node(number, properties={'rack': f'r{number % 50}'})
            for number in range(500)
        ]
        owners = racks.RackPolicy({}).assign(nodes, HOSTS)
        self.assertEqual(set(HOSTS), set(owners))
        found = zip((n.properties['rack'] for n in nodes), owners, strict=True)
        self.assertEqual(50, len(set(found)))


class TestWeights(policy.AssignerPolicyContract):
    """The assigner by weights of the guide."""

    policy_class = weights.WeightsPolicy
    settings = ({}, {'weights': ('host2=3', 'HOST1=2')})

    def test_nodes_are_shared_by_the_weights(self) -> None:
        """Twice the weight is about twice the nodes."""
        owners = self.build({'weights': ('host1=2',)}).assign(
            [_node(number) for number in range(2000)], HOSTS
        )
        counted = collections.Counter(owners)
        self.assertAlmostEqual(1000, counted['host1'], delta=100)
        self.assertAlmostEqual(500, counted['host2'], delta=100)

    def test_text_that_is_no_weight_is_refused(self) -> None:
        """It names how to write one."""
        for text in ('host1', 'host1=0', '=1', 'host1=x', 'host1=101'):
            with self.assertRaises(contracts.PolicySettingsError):
                self.build({'weights': (text,)})


class TestMemberWeights(policy.AssignerPolicyContract):
    """The assigner of contract version 2 of the guide."""

    policy_class = member_weights.MemberWeightPolicy
    peer_values = ({'weight': 1}, {'weight': 3})


class TestZoneRacks(policy.FilterPolicyContract):
    """The filter with a source of the guide."""

    policy_class = zone_racks.ZoneRacksPolicy
    settings = ({}, {'zone': 'zone2', 'racks': ('rack1', 'rack2')})

    def test_racks_are_those_of_the_zone(self) -> None:
        """In one order, regardless of the order of the lines."""
        with tempfile.NamedTemporaryFile('w') as table:
            table.write('r2 zone1\n\nr9 zone2\nr1 zone1\nr2 zone1\n')
            table.flush()
            racks = zone_racks.read_racks(
                {'table': table.name, 'zone': 'zone1'}
            )
        self.assertEqual(('r1', 'r2'), racks)


_KINDS = (
    contracts.FilterPolicy,
    contracts.AssignerPolicy,
    contracts.MembershipBackend,
)


def _signatures() -> str:
    lines = []
    for kind in _KINDS:
        lines.append(f'class {kind.__name__}:')
        for name, member in inspect.getmembers(kind):
            if inspect.isfunction(member) and (
                name == '__init__' or not name.startswith('_')
            ):
                lines.append(f'    def {name}{_of(member)}')
        lines.append('')
    for name in contracts.__all__:
        value = getattr(contracts, name)
        if dataclasses.is_dataclass(value):
            lines.append(f'{name}(')
            for field in dataclasses.fields(value):
                lines.append(f'    {field.name}: {field.type}')
            lines.append(')')
    return '\n'.join(lines)


def _of(member) -> str:
    text = str(inspect.signature(member))
    return text.replace("'", '').replace('model.', '')


class GuideTest(unittest.TestCase):
    def test_reference_has_every_signature_as_it_is(self) -> None:
        page = (CONTRIBUTOR / 'plugins-reference.rst').read_text()
        shown = textwrap.indent(_signatures().rstrip(), '   ')
        self.assertIn(f'\n{shown}\n', page)

    def test_every_example_is_shown_and_tested(self) -> None:
        pages = CONTRIBUTOR.glob('plugins*.rst')
        shown = ''.join(page.read_text() for page in pages)
        for example in _EXAMPLES.glob('*.py'):
            self.assertIn(f'examples/{example.name}', shown)
            self.assertIn(example.stem, sys.modules)
