"""``compute node delete|check-delete`` with real Ironic and Placement."""

from __future__ import annotations

import uuid as uuid_

from ironic_ownership.contracts import model, records
from ironic_ownership.contracts.events import EventFilter
from tests.functional.support import deletion_case, ironics


class DeleteTest(deletion_case.DeletionTestCase):
    def test_node_that_is_gone_passes_every_gate(self) -> None:
        self.assertEqual(deletion_case.GATES, self.check(self.gone))
        self.assertEqual(deletion_case.GATES, self.check('gone-1'))
        self.assert_all_kept()

    def test_provider_and_record_go_together(self) -> None:
        (row,) = self.run_json('delete', 'gone-1', '--yes')
        self.assertEqual(('deleted', True), _result(row))
        self.assert_only_gone_is_deleted()
        event = self.lab.records.events(EventFilter(node_uuid=self.gone))[0]
        self.assertEqual(
            ('node_forgotten', 'rack1', 'node_gone'),
            (event.kind, event.from_host, event.reason),
        )
        self.assertIn('@', event.actor)

    def test_dry_run_deletes_nothing(self) -> None:
        (row,) = self.run_json('delete', self.gone, '--dry-run')
        self.assertEqual(('would_delete', False), _result(row))
        self.assert_all_kept()

    def test_without_a_terminal_nothing_is_deleted(self) -> None:
        done = self.lab.run('compute', 'node', 'delete', self.gone)
        self.assertEqual(2, done.returncode, done.stderr)
        self.assertIn('--yes', done.stderr)
        self.assert_all_kept()

    def test_node_that_ironic_has_is_refused(self) -> None:
        for command in (['check-delete'], ['delete', '--yes']):
            rows = self.run_json(*command, self.nodes[0], code=3)
            self.assertTrue(rows)
        outcomes = self.check(self.nodes[0], code=3)
        self.assertEqual(
            deletion_case.GATES | {'node_is_gone': 'failed'}, outcomes
        )
        self.assert_all_kept()

    def test_some_are_deleted_though_others_are_refused(self) -> None:
        rows = self.run_json(
            'delete', self.nodes[0], self.gone, self.gone, '--yes', code=3
        )
        self.assertEqual(
            [('refused', False), ('deleted', True)], list(map(_result, rows))
        )
        self.assert_only_gone_is_deleted()

    def test_instance_keeps_the_record(self) -> None:
        self.update(
            model.Node(
                self.gone, name='gone-1', instance_uuid=str(uuid_.uuid4())
            )
        )
        self.assert_refused(no_instance='failed')

    def test_allocation_keeps_record_and_provider(self) -> None:
        consumer = self.placement_server.allocate(self.gone)
        self.assert_refused(no_allocation='failed')
        self.assertIn(consumer, self.evidence['no_allocation'])
        self.placement_server.free(consumer)
        self.run_json('delete', self.gone, '--yes')
        self.assert_only_gone_is_deleted()

    def test_every_failed_gate_is_listed(self) -> None:
        self.placement_server.allocate(self.gone)
        self.update(model.Node(self.gone, instance_uuid=str(uuid_.uuid4())))
        self.assert_refused(no_instance='failed', no_allocation='failed')

    def test_provider_that_is_gone_already_is_no_obstacle(self) -> None:
        other = self.lose('gone-2', provider=False)
        (row,) = self.run_json('delete', other, '--yes')
        self.assertEqual(('deleted', False), _result(row))
        self.assertEqual({*self.nodes, self.gone}, self.recorded())

    def test_unowned_record_is_deleted(self) -> None:
        ring = model.MemberSettings(
            (model.PolicySettings.of('peer_list', {'peer_list': ()}),)
        )
        epochs = {host: self.lab.serve(host, ring) for host in ('a', 'b')}
        free = str(uuid_.uuid4())
        self.placement_server.provide(free)
        self.lab.claim('a', epochs['a'], model.Node(free))
        self.lab.records.apply('a', epochs['a'], [records.Release(free)])
        self.run_json('delete', free, self.gone, '--yes')
        self.assert_only_gone_is_deleted()

    def test_returning_node_gets_its_record_back(self) -> None:
        self.run_json('delete', self.gone, '--yes')
        self.lab.claim('rack1', self.epoch, model.Node(self.gone, name='x'))
        self.assertEqual({*self.nodes, self.gone}, self.recorded())

    def test_mass_loss_is_evaluated_over_the_nodes_of_the_owner(self) -> None:
        more = [self.lose(f'gone-{n}') for n in (2, 3, 4)]
        outcomes = self.check(self.gone, code=3)
        self.assertEqual(
            deletion_case.GATES | {'no_mass_loss': 'failed'}, outcomes
        )
        self.assertIn('mass_loss_share', self.evidence['no_mass_loss'])
        self.run_json('delete', self.gone, *more, '--yes', code=3)
        self.assertEqual({*self.nodes, self.gone, *more}, self.recorded())
        config = self.lab.configure(
            'brave',
            more='[ownership]\nmass_loss_share = 1\n'
            + self.placement_section(),
        )
        self.run_json('delete', self.gone, *more, '--yes', config=config)
        self.assert_only_gone_is_deleted()

    def test_shard_emptied_by_mistake_loses_nothing(self) -> None:
        for uuid in self.nodes:
            self.server.request(
                'PATCH',
                f'/nodes/{uuid}',
                json=[{'op': 'add', 'path': '/shard', 'value': 'elsewhere'}],
            )
        config = self.lab.configure(
            'sharded',
            policies='shard_key',
            ironic='shard_key = rack1',
            more=self.placement_section(),
        )
        for uuid in self.nodes:
            outcomes = self.check(uuid, code=3, config=config)
            self.assertEqual('failed', outcomes['node_is_gone'])
        self.run_json('delete', *self.nodes, '--yes', code=3, config=config)
        self.assert_all_kept()

    def test_with_a_shard_key_only_shards_are_listed(self) -> None:
        proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(proxy.stop)
        self.lab.ironic = proxy.url
        config = self.lab.configure(
            'sharded',
            policies='shard_key',
            ironic='shard_key = rack1',
            more=self.placement_section(),
        )
        self.run_json('delete', self.gone, '--yes', config=config)
        self.assertTrue(proxy.lists)
        for query in proxy.lists:
            self.assertIn(('shard', 'rack1'), query)
        self.assert_only_gone_is_deleted()

    def test_ironic_down_is_no_deletion(self) -> None:
        self.server.kill()
        self.addCleanup(self.server.start)
        self.assert_refused(
            node_is_gone='unknown',
            no_mass_loss='unknown',
            sees_all_nodes='unknown',
        )
        self.assertIn('refused', self.evidence['node_is_gone'])

    def test_page_of_a_proxy_is_no_deletion(self) -> None:
        self.lab.ironic = f'{self.placement_server.endpoint}/nothing'
        self.lab.config = self.lab.configure(more=self.placement_section())
        self.assert_refused(
            node_is_gone='unknown',
            no_mass_loss='unknown',
            sees_all_nodes='unknown',
        )

    def test_placement_down_is_no_deletion(self) -> None:
        self.placement_server.kill()
        outcomes = self.check(self.gone, code=3)
        (row,) = self.run_json('delete', self.gone, '--yes', code=3)
        self.placement_server.start()
        self.assertEqual(
            deletion_case.GATES | {'no_allocation': 'unknown'}, outcomes
        )
        self.assertEqual(['no_allocation'], row['failed_gates'])
        self.assert_all_kept()

    def test_what_is_not_placement_is_no_deletion(self) -> None:
        self.lab.config = self.lab.configure(
            more=self.placement_section(self.server.endpoint)
        )
        self.assert_refused(no_allocation='unknown')

    def test_deployment_without_placement_is_reported(self) -> None:
        self.lab.config = self.lab.configure()
        self.assertEqual(
            deletion_case.GATES | {'no_allocation': 'not_configured'},
            self.check(self.gone),
        )
        self.assertIn(
            '[placement] is not configured', self.evidence['no_allocation']
        )

    def test_case_of_the_group_does_not_matter(self) -> None:
        section = self.placement_section().replace('placement', 'Placement', 1)
        self.lab.config = self.lab.configure(more=section)
        self.assertEqual(deletion_case.GATES, self.check(self.gone))

    def test_misspelt_placement_is_an_error_and_no_deletion(self) -> None:
        section = self.placement_section()
        for wrong in (
            section.replace('[placement]', '[placment]'),
            section.replace('auth_type', 'auth_tpye'),
            '[placement]\nenabled = true',
            '[placement]\nenabled = maybe',
        ):
            config = self.lab.configure('wrong', more=wrong)
            for words in (['check-delete'], ['delete', '--yes']):
                done = self.lab.run(
                    *('compute', 'node', *words, self.gone), config=config
                )
                self.assertEqual(1, done.returncode, wrong)
                self.assertIn('[placement]', done.stderr)
                self.assertEqual(1, done.stderr.count('\n'), done.stderr)
        self.assert_all_kept()

    def test_narrower_credential_is_no_deletion(self) -> None:
        """A node that is counted and not listed: here, by its being hidden."""
        proxy = HidingProxy(self.server.endpoint, self.nodes[0])
        self.addCleanup(proxy.stop)
        self.lab.ironic = proxy.url
        self.lab.config = self.lab.configure(more=self.placement_section())
        self.assert_refused(sees_all_nodes='failed')
        self.assertIn('3 nodes listed, 4', self.evidence['sees_all_nodes'])

    def test_parts_of_other_nodes_are_no_narrower_credential(self) -> None:
        with self.server.sql() as database:
            database.execute(
                'UPDATE nodes SET parent_node = ? WHERE uuid = ?',
                (self.nodes[0], self.nodes[1]),
            )
        self.assertEqual(deletion_case.GATES, self.check(self.gone))

    def test_unknown_nodes_are_all_named_with_what_is_near(self) -> None:
        wrong = f'{self.gone[:-1]}{"0" if self.gone[-1] != "0" else "1"}'
        for command in (['check-delete'], ['delete', '--yes']):
            done = self.lab.run(
                *('compute', 'node', *command, 'gone-2', wrong, self.gone)
            )
            self.assertEqual(1, done.returncode, done.stderr)
            for word in ("'gone-2'", 'gone-1', wrong, self.gone):
                self.assertIn(word, done.stderr)
        self.assert_all_kept()

    def test_name_of_several_records_is_refused_with_their_uuids(self) -> None:
        other = self.lose('gone-1')
        done = self.lab.run('compute', 'node', 'delete', 'gone-1', '--yes')
        self.assertEqual(1, done.returncode)
        for uuid in (self.gone, other):
            self.assertIn(uuid, done.stderr)
        self.assertIn(other, self.recorded())


class HidingProxy(ironics.RecordingProxy):
    """Leaves one node out of every list, as a project's credential would."""

    def __init__(self, target: str, hidden: str) -> None:
        super().__init__(target)
        self._hidden = hidden

    def _ask(self, handler):  # type: ignore[no-untyped-def]
        import json

        status, headers, body = super()._ask(handler)
        if handler.path.startswith('/v1/nodes?'):
            data = json.loads(body)
            data['nodes'] = [
                n for n in data['nodes'] if n['uuid'] != self._hidden
            ]
            body = json.dumps(data).encode()
        return status, headers, body


def _result(row: dict[str, object]) -> tuple[object, object]:
    return row['result'], row['provider_deleted']
