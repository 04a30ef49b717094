from __future__ import annotations

import contextlib
from unittest import mock

from ironic_ownership.contracts import exceptions
from tests.unit.engine import service, world


class TestInstanceSinceTheList(service.ServiceCase):
    """Node 1 goes from host1 to host2, which has just joined."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(world.node, range(1, 8)))
        self.host1 = self.start('host1', world.RING)
        self.host1.refresh()
        self.host2 = self.start('host2', world.RING)

    def deploy_after(self, method: str, number: int, **values: object) -> None:
        """Set the instance when this answer of Ironic is on its way."""
        ask = getattr(self.ironic, method)

        def asked(of: object) -> object:
            setattr(self.ironic, method, ask)
            answer = ask(of)
            self.ironic.put(world.node(number, instance_uuid='i', **values))
            return answer

        setattr(self.ironic, method, asked)

    def test_node_is_not_released(self) -> None:
        self.deploy_after('scan', 1)
        for host in (self.host1, self.host2):
            host.refresh()
        self.assertEqual('host1', self.owners()[1])
        self.assertEqual('i', self.instances()[1])
        self.assertEqual('host2', self.owners()[2])

    def test_permission_ends_before_the_next_owner_may_act(self) -> None:
        guard = self.host1.guard(world.interpret(world.RING))
        for one in self.host1, self.host2:
            one.beat()
        given = {uuid: guard.check(uuid) for uuid in self.ironic.nodes}
        held, asked = [], []

        def look(*args: object, **values: object) -> object:
            held.extend(uuid for uuid in given if given[uuid].is_valid)
            # The records still name this service.
            for uuid in given:
                with contextlib.suppress(exceptions.NotOwnerError):
                    asked.append(guard.check(uuid))
            return apply(*args, **values)

        apply = self.records.apply
        self.shared.records.apply = look
        self.host1.refresh()
        kept = {world.uuid(n) for n, o in self.owners().items() if o}
        self.assertLess(kept, given.keys())
        self.assertEqual(kept, {*held})
        self.assertEqual(kept, {one.node.uuid for one in asked})
        # It may get another one for what it keeps, or gets back.
        for uuid, permission in given.items():
            if uuid in kept:
                permission.confirm()
            else:
                with self.assertRaises(exceptions.NotOwnerError):
                    permission.confirm()
            self.assertIs(uuid in kept, permission.is_valid)

    def test_release_without_an_answer_may_be_committed_later(self) -> None:
        guard = self.host1.guard(world.interpret(world.RING))
        for one in self.host1, self.host2:
            one.beat()
        records, down = self.shared.records, 'no answer of COMMIT'
        error = exceptions.RecordsUnavailableError(down)
        apply, settle = records.apply, records.settle
        for method in ('apply', 'settle'):
            setattr(records, method, mock.Mock(side_effect=error))
            with self.assertRaisesRegex(type(error), down):
                self.host1.refresh()
            records.apply = apply
            # One of those that would have been released.
            self.assertIn('host1', {self.owners()[1]})
            with self.assertRaises(exceptions.NotOwnerError):
                guard.check(world.uuid(1))
        records.settle = settle
        # It stays, after all: nothing is released again.
        self.host2.backend.leave()
        self.host1.process.refresh_loop.refresher.refresh()
        self.assertEqual('host1', guard.check(world.uuid(1)).host)

    def test_ironic_that_does_not_answer_releases_nothing(self) -> None:
        down = exceptions.IronicUnavailableError('Ironic is down')
        self.ironic.failures = {'instances': down}
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.host1.refresh()
        self.assertEqual('host1', self.owners()[1])

    def test_steady_refresh_asks_nothing_more(self) -> None:
        for host in (self.host1, self.host2):
            host.refresh()
        self.ironic.calls.clear()
        self.host1.refresh()
        self.assertNotIn(
            'instances', [method for method, _ in self.ironic.calls]
        )

    def test_node_that_left_the_scope_is_asked_for_itself(self) -> None:
        for host in (self.host1, self.host2):
            host.backend.leave()
        settings = world.runs(conductor_group='g', peer_list=())
        self.ironic.put(world.node(20, conductor_group='g'))
        hosts = [self.start(n, settings) for n in ('host5', 'host6')]
        for host in hosts * 2:
            host.refresh()
        owner = next(h for h in hosts if h.host == self.owners()[20])
        self.ironic.put(world.node(20, conductor_group='h'))
        self.deploy_after('get', 20, conductor_group='h')
        owner.refresh()
        self.assertEqual(owner.host, self.owners()[20])
        self.assertEqual('i', self.instances()[20])
