from __future__ import annotations

from ironic_ownership.contracts import exceptions, model, request_header
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host import action_guard
from tests.unit.engine import service, world

LONGEST = 5.0
SHARD_A = world.runs(shard_key='a', conductor_group='g')


class TestGuard(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.place(1, 2, 3)
        self.host = self.start('host1', SHARD_A)
        self.host.refresh()
        self.guard = self.guard_of(self.host, SHARD_A)
        self.ironic.calls.clear()

    def place(self, *numbers: int, **values: object) -> None:
        place = {'shard': 'a', 'conductor_group': 'g', **values}
        self.ironic.put(*(world.node(number, **place) for number in numbers))

    def guard_of(
        self, host: service.Service, settings: model.MemberSettings
    ) -> action_guard.Guard:
        policies = world.interpret(settings) or policy_set.PolicySet()
        return host.guard(policies, LONGEST)

    def refuse(
        self, error: type[exceptions.OwnershipError], *words: str
    ) -> None:
        with self.assertRaises(error) as caught:
            self.guard.check(world.uuid(1))
        self.assertIs(error, type(caught.exception))
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_own_node_in_scope_passes_as_ironic_has_it_now(self) -> None:
        self.place(1, name='renamed')
        self.assertEqual('renamed', self.guard.check(world.uuid(1)).node.name)

    def test_look_up_is_by_uuid_alone_and_lists_nothing(self) -> None:
        self.guard.check(world.uuid(1))
        self.assertEqual(
            [('get', world.uuid(1)), ('conductors', None)], self.ironic.calls
        )

    def test_free_node_that_left_the_shard_or_the_group_is_refused(
        self,
    ) -> None:
        wrong = exceptions.WrongScopeError
        self.place(1, shard='b')
        self.refuse(wrong, world.uuid(1), 'host1', 'shard is b')
        self.place(1, shard=None)
        self.refuse(wrong, 'shard is none')
        self.place(1, conductor_group='h')
        self.refuse(wrong, 'conductor group h')
        self.place(1, conductor_group='')
        self.refuse(wrong, 'conductor group the default one')

    def test_deployed_node_that_left_the_scope_passes_and_that_is_known(
        self,
    ) -> None:
        self.place(1, instance_uuid='i')
        self.assertTrue(self.guard.check(world.uuid(1)).in_scope)
        for changed in ({'shard': 'b'}, {'conductor_group': 'h'}):
            self.place(1, instance_uuid='i', **changed)
            with self.assertLogs(service.LOGGER, 'WARNING') as logs:
                permission = self.guard.check(world.uuid(1))
            self.assertEqual('i', permission.node.instance_uuid)
            self.assertFalse(permission.in_scope)
            self.assertIn(world.uuid(1), logs.output[0])

    def test_deployed_node_that_left_the_scope_is_refused_where_chosen(
        self,
    ) -> None:
        self.guard.own_scope_only = True
        self.place(1, instance_uuid='i')
        self.guard.check(world.uuid(1))
        self.place(1, shard='b', instance_uuid='i')
        self.refuse(exceptions.WrongScopeError, 'shard is b')

    def test_instance_on_record_counts_until_it_is_closed(self) -> None:
        self.place(1, instance_uuid='i')
        self.host.refresh()
        self.place(1, shard='b')
        with self.assertLogs(service.LOGGER, 'WARNING'):
            permission = self.guard.check(world.uuid(1))
        self.assertIsNone(permission.node.instance_uuid)

    def test_node_of_another_service_is_refused_and_it_is_named(self) -> None:
        self.operator("UPDATE compute_nodes SET host = 'host2'")
        self.refuse(
            exceptions.NotOwnerError,
            'belongs to host2',
            f'compute node move {world.uuid(1)} --to host1',
        )
        self.assertEqual([], self.ironic.calls)

    def test_unowned_node_is_refused(self) -> None:
        self.operator('UPDATE compute_nodes SET host = NULL')
        self.refuse(exceptions.NotOwnerError, 'unowned', 'next refresh')

    def test_node_without_a_record_is_refused(self) -> None:
        self.operator('DELETE FROM compute_nodes')
        self.refuse(exceptions.NotOwnerError, 'unowned')

    def test_node_that_ironic_does_not_have_is_refused(self) -> None:
        del self.ironic.nodes[world.uuid(1)]
        self.refuse(exceptions.NotFoundError, world.uuid(1))

    def test_ironic_that_does_not_answer_is_no_permission(self) -> None:
        down = exceptions.IronicUnavailableError('Ironic is down')
        self.ironic.failures = {'get': down}
        self.refuse(exceptions.IronicUnavailableError)

    def test_node_that_no_conductor_can_work_on_is_refused(self) -> None:
        self.ironic.workers = [
            model.Conductor('c1', 'g', frozenset({'d'}), alive=False),
            model.Conductor('c2', '', frozenset({'d'})),
        ]
        self.place(1, driver='d')
        self.refuse(
            exceptions.NodeOutOfServiceError,
            *(world.uuid(1), "'d'", "conductor group 'g'", 'c1'),
        )
        self.ironic.workers = []
        self.refuse(exceptions.NodeOutOfServiceError, world.uuid(1))
        self.ironic.outage_counts = False
        self.guard.check(world.uuid(1))

    def test_conductors_that_do_not_answer_are_no_permission(self) -> None:
        down = exceptions.IronicUnavailableError('Ironic is down')
        self.ironic.failures = {'conductors': down}
        self.refuse(exceptions.IronicUnavailableError)

    def test_conductors_that_are_not_shown_refuse_nothing(self) -> None:
        for error in (
            exceptions.IronicTooOldError('1.49'),
            exceptions.IronicError('403'),
        ):
            self.ironic.failures = {'conductors': error}
            self.guard.check(world.uuid(1))

    def test_service_without_membership_may_not_act(self) -> None:
        self.shared.clock.elapse(service.TTL - service.MARGIN)
        self.refuse(exceptions.FencedError, 'no valid membership')
        self.assertEqual([], self.ironic.calls)

    def test_right_that_ends_during_the_check_is_refused(self) -> None:
        get = self.ironic.get

        def slowly(uuid: str):
            self.shared.clock.elapse(service.TTL - service.MARGIN)
            return get(uuid)

        self.ironic.get = slowly
        self.refuse(exceptions.FencedError, 'no valid membership')

    def test_fenced_service_may_not_act_before_it_notices(self) -> None:
        self.operator('UPDATE services SET epoch = epoch + 1, fenced = 1')
        self.assertTrue(self.host.fence.may_act)
        self.refuse(exceptions.FencedError, 'was fenced')

    def test_superseded_process_may_not_act(self) -> None:
        self.records.register('host1', SHARD_A)
        self.refuse(exceptions.FencedError, 'another process of this one')

    def test_forced_down_service_may_act_after_it_registered_again(
        self,
    ) -> None:
        self.records.set_service('host1', actor='x', forced_down=True)
        self.refuse(exceptions.FencedError, 'forced down')
        self.records.set_service('host1', actor='x', forced_down=False)
        self.refuse(exceptions.FencedError, 'was fenced')
        self.host.beat()
        self.guard.check(world.uuid(1))

    def test_disabled_service_goes_on_managing_its_nodes(self) -> None:
        self.operator('UPDATE services SET disabled = 1')
        self.guard.check(world.uuid(1))

    def test_permission_signs_changes_under_its_epoch(self) -> None:
        self.assertEqual(
            {}, self.guard.check(world.uuid(1)).headers('PUT', '')
        )
        self.guard.shared_key = 'k' * 32
        permission = self.guard.check(world.uuid(1))
        url = f'http://ironic:6385/v1/nodes/{world.uuid(1)}/states/power'
        self.assertEqual({}, permission.headers('GET', url))
        (value,) = permission.headers('PUT', url).values()
        read = request_header.read(value)
        assert read is not None
        claim, signature = read
        self.assertEqual(
            ('host1', permission.epoch, world.uuid(1)),
            (claim.service, claim.epoch, claim.node),
        )
        path = f'/v1/nodes/{world.uuid(1)}/states/power'
        self.assertTrue(claim.is_signed(signature, ['k' * 32], 'PUT', path))

    def test_changed_policies_count_from_the_next_check_on(self) -> None:
        self.guard.policies = policy_set.PolicySet.of(
            world.interpret(world.runs(shard_key='b')).filters
        )
        self.refuse(exceptions.WrongScopeError, 'shard is a')
