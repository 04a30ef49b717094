"""The time limit of one run: what it reports, and what it leaves alone."""

from __future__ import annotations

import argparse
import threading
import unittest
from typing import Any
from unittest import mock

from ironic_ownership.api.operation_client import (
    OperationClient,
    RemoteClient,
)
from ironic_ownership.cli import deadline
from ironic_ownership.contracts.calls import PendingCalls

LONG = 300.0


class _Caller(OperationClient):
    def _send(self, *args: Any) -> Any:
        return {}, None


class TestDeadline(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.calls = PendingCalls()
        self.ended = threading.Event()
        self.texts: list[str] = []
        self.client = _Caller('req-7')
        self.enterContext(mock.patch.object(deadline, '_end', self.end))
        self.enterContext(mock.patch.object(deadline, 'pending', self.calls))
        self.limit = deadline.Deadline(lambda: self.client)
        self.addCleanup(self.limit.cancel)

    def end(self, text: str) -> None:
        self.texts.append(text)
        self.ended.set()

    def ends(self) -> str:
        """Let the time pass, and return what is written at the end."""
        self.limit.start(0.01)
        self.assertTrue(self.ended.wait(LONG))
        (text,) = self.texts
        return text

    def test_servers_without_an_answer_are_named(self) -> None:
        with self.calls.to('Ironic'), self.calls.to('the database x'):
            text = self.ends()
        self.assertTrue(self.limit.passed)
        self.assertRegex(
            text,
            r'^ironic-ownership: error: no result within 0.01 s.*from: '
            r'Ironic \(\d+\.\d s\), the database x \(\d+\.\d s\)\n$',
        )

    def test_command_that_computes_waits_for_no_server(self) -> None:
        text = self.ends()
        self.assertIn('It waits for no server: it is still computing', text)
        self.assertNotIn('No answer yet', text)

    def test_what_may_have_changed_can_be_found_out(self) -> None:
        self.client.call('check:show')
        self.client.call('move:create', body={'dry_run': True})
        self.assertFalse(self.client.has_written)
        self.client.call('move:create', body={'dry_run': False})
        text = self.ends()
        for command in (
            'event list --request-id req-7',
            'move list --unfinished',
        ):
            self.assertIn(f'"ironic-ownership {command}"', text)

    def test_id_that_only_the_http_service_knows_is_not_named(self) -> None:
        self.client = RemoteClient(mock.Mock(request_id='req-7'))
        self.client.has_written = True
        self.assertIn('"ironic-ownership event list" shows', self.ends())

    def test_run_that_has_ended_is_left_alone(self) -> None:
        self.limit.allow_grace()
        with mock.patch.object(deadline, 'GRACE', LONG):
            self.limit.allow_grace()
        self.limit.start(0.01)
        while not self.limit.passed:
            self.ended.wait(0.01)
        self.limit.cancel()
        for thread in threading.enumerate():
            if thread.name == 'time limit':
                thread.join(LONG)
        self.assertEqual([], self.texts)

    def test_only_positive_numbers_are_times(self) -> None:
        self.assertEqual(2.5, deadline.seconds('2.5'))
        for text in ('0', '-1', 'soon', 'nan', 'inf', '1e300'):
            with self.assertRaises(argparse.ArgumentTypeError):
                deadline.seconds(text)
