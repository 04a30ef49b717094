from __future__ import annotations

from ironic_ownership.contracts import exceptions, model, request_header
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host import action_guard
from tests.unit.engine import service, world

SHARD_A = world.runs(shard_key='a', conductor_group='g')
NODE = world.uuid(1)
DOWN = exceptions.IronicUnavailableError('Ironic is down')


class TestGuard(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.place(1, 2, 3)
        self.host = self.start('host1', SHARD_A)
        self.host.refresh()
        self.guard = self.host.process.guard
        self.ironic.calls.clear()

    def place(self, *numbers: int, **values: object) -> None:
        place = {'shard': 'a', 'conductor_group': 'g', **values}
        self.ironic.put(*(world.node(number, **place) for number in numbers))

    def check(self) -> action_guard.Permission:
        return self.guard.check(NODE)

    def refuse(
        self, error: type[exceptions.OwnershipError], *words: str
    ) -> None:
        with self.assertRaises(error) as caught:
            self.check()
        self.assertIs(error, type(caught.exception))
        for word in words:
            self.assertIn(word, str(caught.exception))

    def down(self, down: bool = True) -> None:
        self.records.set_service('host1', actor='x', forced_down=down)

    def test_look_up_is_by_uuid_alone_and_lists_nothing(self) -> None:
        self.place(1, name='renamed')
        self.assertEqual('renamed', self.check().node.name)
        self.assertEqual(
            [('get', NODE), ('conductors', None)], self.ironic.calls
        )

    def test_each_refusal_of_a_node(self) -> None:
        scope, owner = exceptions.WrongScopeError, exceptions.NotOwnerError
        ironic = exceptions.IronicUnavailableError
        move = f'compute node move {NODE} --to host1'
        for error, words, arrange in (
            (scope, [NODE, 'host1', 'shard is b'], {'shard': 'b'}),
            (scope, ['shard is none'], {'shard': None}),
            (scope, ['conductor group h'], {'conductor_group': 'h'}),
            (scope, ['group the default one'], {'conductor_group': ''}),
            (
                owner,
                ['belongs to host2', move],
                "UPDATE compute_nodes SET host = 'host2'",
            ),
            (
                owner,
                ['unowned', 'next refresh'],
                'UPDATE compute_nodes SET host = NULL',
            ),
            (owner, ['unowned'], 'DELETE FROM compute_nodes'),
            (exceptions.NotFoundError, [NODE], None),
            (ironic, ['is down'], 'get'),
            (ironic, ['is down'], 'conductors'),
        ):
            with self.subTest(error, words=words):
                self.setUp()
                if error is owner:
                    self.operator(arrange)
                elif error is ironic:
                    self.ironic.failures = {arrange: DOWN}
                elif error is scope:
                    self.place(1, **arrange)
                else:
                    self.ironic.nodes.clear()
                self.refuse(error, *words)
                if error is owner:
                    self.assertEqual([], self.ironic.calls)

    def test_each_refusal_of_the_service(self) -> None:
        for words, arrange in (
            (
                'no valid membership',
                lambda: self.shared.clock.elapse(service.TTL),
            ),
            (
                'was fenced',
                lambda: self.operator(
                    'UPDATE services SET epoch = epoch + 1, fenced = 1'
                ),
            ),
            (
                'another process of this one',
                lambda: self.records.register('host1', SHARD_A),
            ),
            ('forced down', self.down),
        ):
            with self.subTest(words):
                self.setUp()
                arrange()
                self.refuse(exceptions.FencedError, words)
                self.assertEqual([], self.ironic.calls)
        self.down(False)
        self.refuse(exceptions.FencedError, 'was fenced')
        self.host.beat()
        self.check()

    def test_right_that_ends_during_the_check_is_refused(self) -> None:
        self.meanwhile(
            self.ironic,
            'get',
            lambda: self.shared.clock.elapse(service.TTL - service.MARGIN),
        )
        self.refuse(exceptions.FencedError, 'no valid membership')

    def test_deployed_node_that_left_the_scope_passes_and_that_is_known(
        self,
    ) -> None:
        self.place(1, instance_uuid='i')
        self.assertTrue(self.check().in_scope)
        self.host.refresh()
        for changed in (
            {'instance_uuid': 'i', 'shard': 'b'},
            {'instance_uuid': 'i', 'conductor_group': 'h'},
            # An instance on record counts until it is closed.
            {'instance_uuid': None, 'shard': 'b'},
        ):
            self.place(1, **changed)
            with self.assertLogs(service.LOGGER, 'WARNING') as logs:
                permission = self.check()
            self.assertEqual(
                changed['instance_uuid'], permission.node.instance_uuid
            )
            self.assertFalse(permission.in_scope)
            self.assertIn(NODE, logs.output[0])

    def test_deployed_node_that_left_the_scope_is_refused_where_chosen(
        self,
    ) -> None:
        self.guard.own_scope_only = True
        self.place(1, instance_uuid='i')
        self.check()
        self.place(1, shard='b', instance_uuid='i')
        self.refuse(exceptions.WrongScopeError, 'shard is b')

    def test_node_that_no_conductor_can_work_on_is_refused(self) -> None:
        self.ironic.workers = [
            model.Conductor('c1', 'g', frozenset({'d'}), alive=False),
            model.Conductor('c2', '', frozenset({'d'})),
        ]
        self.place(1, driver='d')
        out = exceptions.NodeOutOfServiceError
        self.refuse(out, NODE, "'d'", "conductor group 'g'", 'c1')
        self.ironic.workers = []
        self.refuse(out, NODE)
        self.ironic.outage_counts = False
        self.check()
        self.ironic.outage_counts = True
        # Conductors that are not shown refuse nothing.
        for error in (
            exceptions.IronicTooOldError('1.49'),
            exceptions.IronicError('403'),
        ):
            self.ironic.failures = {'conductors': error}
            self.check()

    def test_disabled_service_goes_on_managing_its_nodes(self) -> None:
        self.operator('UPDATE services SET disabled = 1')
        self.check()

    def test_permission_signs_changes_under_its_epoch(self) -> None:
        self.assertEqual({}, self.check().headers('PUT', ''))
        self.guard.shared_key = 'k' * 32
        permission = self.check()
        path = f'/v1/nodes/{NODE}/states/power'
        url = f'http://ironic:6385{path}'
        self.assertEqual({}, permission.headers('GET', url))
        (value,) = permission.headers('PUT', url).values()
        read = request_header.read(value)
        assert read is not None
        claim, signature = read
        self.assertEqual(
            ('host1', permission.epoch, NODE),
            (claim.service, claim.epoch, claim.node),
        )
        self.assertTrue(claim.is_signed(signature, ['k' * 32], 'PUT', path))

    def test_changed_policies_count_from_the_next_check_on(self) -> None:
        self.guard.policies = policy_set.PolicySet.of(
            world.interpret(world.runs(shard_key='b')).filters
        )
        self.refuse(exceptions.WrongScopeError, 'shard is a')
