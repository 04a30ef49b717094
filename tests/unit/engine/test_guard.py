"""Nobody acts on a node after its right to was taken away."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import guard, policy_set
from tests.unit.engine import service, world


class TestGuard(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(world.node(1))
        self.host = self.start('host1')
        self.host.refresh()
        self.guard = guard.Guard(
            'host1',
            world.interpret(world.ALL) or policy_set.PolicySet(),
            self.host.fence,
            self.records,
            self.ironic,
        )

    def check(self) -> str:
        return self.guard.check(world.uuid(1)).uuid

    def test_owner_may_act(self) -> None:
        self.assertEqual(world.uuid(1), self.check())

    def test_forced_down_service_may_not_act_at_once(self) -> None:
        self.records.set_service('host1', actor='x', forced_down=True)
        with self.assertRaisesRegex(exceptions.FencedError, 'forced down'):
            self.check()
        self.records.set_service('host1', actor='x', forced_down=False)
        with self.assertRaises(exceptions.FencedError):
            self.check()
        self.host.membership.lose_epoch()
        self.host.beat()
        self.assertEqual(world.uuid(1), self.check())

    def test_successor_or_deletion_ends_the_right_to_act(self) -> None:
        self.records.register('host1', world.ALL)
        with self.assertRaises(exceptions.FencedError):
            self.check()

    def test_disabled_service_goes_on_with_its_nodes(self) -> None:
        self.records.set_service('host1', actor='x', disabled=True)
        self.assertEqual(world.uuid(1), self.check())
