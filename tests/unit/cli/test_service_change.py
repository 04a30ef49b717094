"""Commands that change services, in this process and over HTTP."""

from __future__ import annotations

from unittest import mock

from ironic_ownership.api.resources.service_changes import CHANGE, FAILOVER
from ironic_ownership.cli import errors
from ironic_ownership.cli.service_change import (
    DeleteService,
    FailoverService,
    SetService,
)
from ironic_ownership.contracts import exceptions
from ironic_ownership.db.records import SqlRecords
from ironic_ownership.observe import columns
from tests.unit.cli import test_move
from tests.unit.engine import world

_CHANGE_KEYS = (*columns.keys(CHANGE), 'dry_run', 'request_id')
_FAILOVER_KEYS = (*columns.keys(FAILOVER), 'dry_run', 'request_id')


class ServiceCommandsTest(test_move.ConfirmedCase):
    """``idle`` is stopped and owns nothing."""

    def setUp(self) -> None:
        super().setUp()
        self.records.register('idle', world.ALL)

    def state(self) -> tuple[object, ...]:
        return self.records.services(), self.records.events()

    def test_dry_run_and_refusal_ask_and_change_nothing(self) -> None:
        before = self.state()
        for code, kind, words in (
            (0, SetService, ('idle', '--down', '--dry-run')),
            (0, DeleteService, ('idle', '--dry-run')),
            (3, DeleteService, ('old', '--dry-run')),
            (3, DeleteService, ('old',)),
            (3, FailoverService, ('new',)),
        ):
            self.assertEqual(code, self.run_command(kind, *words)[0], words)
        self.assertEqual(before, self.state())
        self.confirm.assert_not_called()

    def test_change_is_confirmed_and_made(self) -> None:
        words = ('IDLE', '--disable', '--disable-reason', ' new  fans ')
        code, shown = self.run_command(SetService, *words)
        self.assertEqual((0, list(_CHANGE_KEYS)), (code, list(shown)))
        self.assertFalse(shown['dry_run'])
        self.assertEqual('new fans', shown['disabled_reason'])
        _, question = self.confirm.call_args.args
        self.assertEqual('Disable service idle', question)
        self.confirm.reset_mock()
        code, shown = self.run_command(SetService, *words)
        self.assertEqual((0, []), (code, shown['changed']))
        self.confirm.assert_not_called()

    def test_question_names_what_is_done(self) -> None:
        for words, question in (
            (('--disable', '--down'), 'Disable and force down service idle'),
            (('--disable', '--disable-reason', 'fans'), 'Change the disable '),
            (('--up',), 'End the forced-down state of service idle'),
            (('--enable',), 'Enable service idle'),
        ):
            self.run_command(SetService, 'idle', *words)
            self.assertIn(question, self.confirm.call_args.args[1])

    def test_answer_no_changes_nothing(self) -> None:
        before = self.state()
        self.confirm.side_effect = exceptions.OwnershipError('not confirmed')
        with self.assertRaises(exceptions.OwnershipError):
            self.run_command(DeleteService, 'idle')
        self.assertEqual(before, self.state())

    def test_service_is_deleted(self) -> None:
        code, gates = self.run_command(DeleteService, 'idle', '--yes')
        self.assertEqual((0, 3), (code, len(gates)))
        self.assertNotIn('idle', [s.host for s in self.records.services()])

    def test_service_in_use_since_the_proposal_is_refused(self) -> None:
        error = exceptions.ServiceInUseError('idle', 1, 0)
        with mock.patch.object(
            SqlRecords, 'delete_service', side_effect=error
        ):
            code, gates = self.run_command(DeleteService, 'idle', '--yes')
        self.assertEqual((errors.ExitCode.REFUSED, 3), (code, len(gates)))

    def test_refused_failover_shows_the_service(self) -> None:
        with self.assertLogs('ironic_ownership.cli', 'ERROR') as logs:
            code, shown = self.run_command(FailoverService, 'new', '--to', 'x')
        self.assertEqual((3, list(_FAILOVER_KEYS)), (code, list(shown)))
        self.assertEqual((False, False), (shown['done'], shown['dry_run']))
        self.assertIn('refused by standby_alive', logs.output[0])

    def test_failover_without_process_and_target_shows_done(self) -> None:
        code, shown = self.run_command(FailoverService, 'idle')
        self.assertEqual(3, code)
        cells = [shown[f'{key}_incarnation'] for key in ('from', 'to')]
        self.assertEqual(([None, None], True), (cells, shown['done']))

    def test_settings_have_to_be_given(self) -> None:
        for words in ((), ('--disable-reason', 'x')):
            with self.assertRaises(errors.UsageError):
                self.run_command(SetService, 'idle', *words)


class ServiceCommandsOverHttpTest(ServiceCommandsTest):
    remote = True
