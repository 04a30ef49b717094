"""A deletion that ends at any step is finished by the next one.

A child process does what a host or an operator does, and dies at one step
after the other.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal

import sqlalchemy as sa

from ironic_ownership import wiring
from ironic_ownership.cmd import cli
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import exceptions, reasons
from ironic_ownership.db import tables
from ironic_ownership.engine.membership import registration
from tests.functional.support import deletion_case, steps

_FORK = multiprocessing.get_context('fork')
_MOST_STEPS = 200


def delete(config: str, uuid: str) -> int:
    """Do what an operator does."""
    with contextlib.redirect_stdout(io.StringIO()):
        return cli.main(
            [
                *('--config-file', config, 'compute', 'node'),
                *('delete', uuid, '--yes'),
            ]
        )


def refresh(config: str, uuid: str) -> int:
    """Do what a host does at its next refresh: beat, then refresh."""
    wired = wiring.Wiring(new(['--config-file', config], 'test'))
    host = wired.host()
    # One step after the other, in this one thread.
    host.member.registration.run_in_background = registration.run_now
    try:
        host.member.beat()
        host.refresh_loop.refresher.refresh()
    except exceptions.OwnershipError:
        return 1
    finally:
        wired.close()
    return 0


class CrashTest(deletion_case.DeletionTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.config = str(
            self.lab.configure(host='rack1', more=self.placement_section())
        )

    def bury_members(self) -> None:
        """Let no dead process be in the way of the next one."""
        self.lab._database.write(
            lambda conn: conn.execute(sa.delete(tables.members))
        )
        # Without a process on record the next one need not wait for it.
        self.epoch = self.lab.serve('rack1', self.settings(), alive=False)

    def prepare(self) -> None:
        """Have one record to delete, with a provider."""
        self.bury_members()
        if self.gone in self.recorded():
            return
        self.gone = self.lose('gone-again')

    def is_as_before(self) -> bool:
        """Tell whether no step had an effect that another process sees."""
        found = self.lab.records.compute_nodes_by_uuid([self.gone])
        return [node.reason for node in found] == [
            reasons.Reason.EXCLUSIVE
        ] and self.gone in self.placement_server.providers()

    def settings(self):  # type: ignore[no-untyped-def]
        (service,) = self.lab.records.services()
        return service.settings

    def assert_recoverable(self) -> None:
        """No provider without its record, and nothing else was touched."""
        recorded = self.recorded()
        providers = self.placement_server.providers()
        self.assertLessEqual(providers, recorded)
        self.assertLessEqual(set(self.nodes), providers)

    def run_child(self, act, last):  # type: ignore[no-untyped-def]
        """Run one attempt in a child; return its exit status."""

        def work() -> None:
            os.close(2)
            os.open(os.devnull, os.O_WRONLY)
            # A deletion begins with the question to Ironic for its node.
            counted = steps.Steps(last, steps.die, first=self.gone)
            counted.count_commits()
            counted.count_requests()
            act(self.config, self.gone)
            # Not the command's own code: was the step ever reached?
            os._exit(0 if counted.taken < last else 1)

        child = _FORK.Process(target=work)
        child.start()
        child.join(180)
        return child.exitcode

    def go_through_all_steps(self, act):  # type: ignore[no-untyped-def]
        states = set()
        for last in range(1, _MOST_STEPS):
            self.prepare()
            status = self.run_child(act, last)
            self.assertIn(status, (0, -signal.SIGKILL))
            self.assert_recoverable()
            states.add(
                (
                    self.gone in self.recorded(),
                    self.gone in self.placement_server.providers(),
                )
            )
            if self.is_as_before():
                self.assertNotEqual(0, status)
                continue  # the next attempt is the one that goes on
            if self.gone in self.recorded():
                self.bury_members()
                self.assertEqual(0, self.run_child(act, _MOST_STEPS))
            self.assert_only_gone_is_deleted()
            if status == 0:
                break
        else:
            self.fail('never came to its end')
        # Each of them was seen: before, between the two, and after.
        self.assertEqual({(True, True), (True, False), (False, False)}, states)

    def test_operator_killed_at_any_step(self) -> None:
        self.go_through_all_steps(delete)

    def test_host_killed_at_any_step(self) -> None:
        self.go_through_all_steps(refresh)
