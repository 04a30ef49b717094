from __future__ import annotations

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import EventFilter
from tests.unit.engine import service, world

DOWN = exceptions.IronicUnavailableError('Ironic is down')


class ReleaseCase(service.ServiceCase):
    """Node 1 goes from host1 to host2, which has just joined."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(world.node, range(1, 8)))
        self.host1 = self.start('host1', world.RING)
        self.host1.refresh()
        self.host2 = self.start('host2', world.RING)

    def deploy(self, number: int = 1) -> None:
        self.ironic.put(world.node(number, instance_uuid='i'))

    def deploy_after(self, method: str) -> None:
        """Set the instance when this answer of Ironic is on its way."""
        ask = getattr(self.ironic, method)

        def asked(scope: model.Scope):
            setattr(self.ironic, method, ask)
            answer = ask(scope)
            self.deploy()
            return answer

        setattr(self.ironic, method, asked)

    def reasons(self) -> list[str | None]:
        events = self.records.events(EventFilter(node_uuid=world.uuid(1)))
        return [e.reason for e in events if e.kind == 'owner_changed'][::-1]


class TestInstanceSinceTheList(ReleaseCase):
    def test_node_is_not_released(self) -> None:
        self.deploy_after('scan')
        self.host1.refresh()
        self.assertEqual('host1', self.owners()[1])
        self.assertEqual('i', self.instances()[1])
        self.assertIsNone(self.owners()[2])
        self.host2.refresh()
        self.assertEqual(['assigned'], self.reasons())

    def test_ironic_that_does_not_answer_releases_nothing(self) -> None:
        self.ironic.failures = {'instances': DOWN}
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
        for _ in range(2):
            for host in hosts:
                host.refresh()
        owner = next(h for h in hosts if h.host == self.owners()[20])
        self.ironic.put(world.node(20, conductor_group='h'))
        get = self.ironic.get

        def deployed_meanwhile(uuid: str):
            self.ironic.get = get
            answer = get(uuid)
            self.ironic.put(
                world.node(20, conductor_group='h', instance_uuid='i')
            )
            return answer

        self.ironic.get = deployed_meanwhile
        owner.refresh()
        self.assertEqual(owner.host, self.owners()[20])
        self.assertEqual('i', self.instances()[20])


class TestInstanceAtTheRelease(ReleaseCase):
    def setUp(self) -> None:
        super().setUp()
        self.deploy_after('instances')
        self.host1.refresh()
        self.assertIsNone(self.owners()[1])

    def test_only_the_service_that_released_the_node_claims_it(self) -> None:
        for _ in range(2):
            self.host2.refresh()
            self.assertIsNone(self.owners()[1])
        self.host1.refresh()
        self.host2.refresh()
        self.assertEqual('host1', self.owners()[1])
        self.assertEqual('i', self.instances()[1])
        self.assertEqual(['released', 'returned'], self.reasons()[-2:])

    def test_free_again_it_goes_to_its_next_owner(self) -> None:
        self.ironic.put(world.node(1))
        self.host2.refresh()
        self.assertEqual('host2', self.owners()[1])
        self.deploy()
        for host in (self.host1, self.host2):
            host.refresh()
        self.assertEqual('host2', self.owners()[1])

    def test_it_waits_while_that_service_is_dead(self) -> None:
        for _ in range(2):
            self.settle(self.host2)
            self.host2.refresh()
        owners = self.owners()
        self.assertIsNone(owners.pop(1))
        self.assertEqual({'host2'}, set(owners.values()))

    def test_service_that_does_not_admit_it_any_more_does_not_claim_it(
        self,
    ) -> None:
        self.host1.member.leave()
        changed = self.start('host1', world.runs(shard_key='z'))
        for host in (changed, self.host2):
            host.refresh()
        self.assertEqual('host2', self.owners()[1])
        self.assertEqual('adopted', self.reasons()[-1])
