"""A service that was fenced: what it notices, and what it then leaves alone.

By an operator, by its peers while it was paused, with an Ironic that does not
answer, and with a configuration that changes meanwhile.
"""

from __future__ import annotations

import pathlib
import sys

from ironic_ownership.contracts.events import EventKind
from ironic_ownership.db import heartbeats
from tests.functional.support import (
    guarding_host,
    hosts,
    ironics,
    member_expiry,
    reload_case,
)

DOWN = 'service host1 is forced down'


class TestForcedDown(reload_case.ReloadsTestCase):
    def start(self, **sections: object) -> hosts.Host:
        """Start host1, and wait until it owns two nodes."""
        uuids = self.enrolment.enrol(2)
        host = self.deployment.start('host1', 'peer_list', **sections)
        self.deployment.wait_for_owners(dict.fromkeys(uuids, 'host1'))
        return host

    def down(self, down: bool) -> None:
        self.deployment.records.set_service(
            'host1', actor='test', forced_down=down
        )

    def wait_until_registered(self) -> None:
        self.deployment.wait_until(
            lambda: not self.row('host1').fenced, 'registration'
        )

    def registrations(self) -> int:
        kinds = [event.kind for event in self.deployment.events()]
        return kinds.count(EventKind.SERVICE_REGISTERED)

    def advertised(self) -> str:
        view = heartbeats.alive(self.deployment.database)
        member = view.get('host1')
        return member.settings.to_json() if member else ''

    def test_configuration_that_changes_meanwhile_registers_nothing(
        self,
    ) -> None:
        host = self.start()
        self.down(True)
        # Before it can know: the change is stored under the dead epoch.
        reload_case.reload(host, ironic={'peer_list': 'host1,host9'})
        self.wait_for_lines(host, DOWN)
        self.wait_for_lines(host, reload_case.RELOADED)
        before = self.row('host1'), self.deployment.events()
        self.reload_and_wait(host, ironic={'peer_list': 'host1,host2'})
        self.reload_and_wait(
            host,
            ownership={'refresh_interval': 2},
            membership={'heartbeat_interval': 0.5},
        )
        reload_case.reload(host, ownership={'refresh_interval': 'never'})
        self.wait_for_lines(host, reload_case.REFUSED)
        self.deployment.wait_for_beats('host1', 6)
        self.assertEqual(before, (self.row('host1'), self.deployment.events()))
        self.assertIn('host2', self.advertised())
        self.assertEqual(1, len(host.lines(DOWN)))
        self.down(False)
        self.wait_until_registered()
        self.wait_for_error('host1', 'refresh_interval')
        self.deployment.wait_for_beats('host1', 6)
        self.assertGreater(self.row('host1').epoch, before[0].epoch)
        self.assertEqual(2, self.registrations())
        self.assertIn('host2', self.row('host1').settings.to_json())
        self.assertEqual([], host.lines('another service'))
        self.assertEqual(1, len(host.lines(' joined as ')))


class TestPausedGuard(hosts.HostsTestCase):
    """host1 asks its guard, and is paused while Ironic takes its time."""

    def test_it_does_not_permit_what_its_peer_was_given(self) -> None:
        ironic = ironics.HoldingProxy(self.server.endpoint)
        self.addCleanup(ironic.stop)
        deployment = self.deployment
        uuids = self.enrolment.enrol(12)
        questions = deployment.directory / 'questions'
        deployment.command = (sys.executable, guarding_host.__file__)
        deployment.environment = {guarding_host.VARIABLE: str(questions)}
        one = deployment.start(
            'host1', ironic={'endpoint_override': ironic.url}
        )
        deployment.command, deployment.environment = (), None
        deployment.start('host2')
        deployment.wait_for_members('host1', 'host2')
        deployment.wait_until(
            lambda: set(deployment.owners().values()) == {'host1', 'host2'},
            'sharing',
        )
        node = min(deployment.owned_by('host1'))
        self.assertIn(node, uuids)
        self.ask(questions, node)
        self.wait_for_answers(questions, 1)
        with ironic.holding(f'/v1/nodes/{node}') as asked:
            self.ask(questions, node)
            self.assertTrue(asked.wait(hosts.TIMEOUT))
            before = deployment.service('host1').epoch
            member_expiry.freeze(deployment, one)
            deployment.wait_until(
                lambda: deployment.owners()[node] == 'host2', 'take-over'
            )
            one.thaw()
            deployment.wait_until(
                lambda: self.is_back('host1', before), 'registration'
            )
        answers = self.wait_for_answers(questions, 2)
        self.assertEqual(guarding_host.PERMITTED, answers[0])
        self.assertNotIn(guarding_host.PERMITTED, answers[1:])

    def ask(self, questions: pathlib.Path, node: str) -> None:
        """Add a question; a file that is replaced is empty at first."""
        with questions.open('a') as file:
            file.write(f'{node}\n')

    def is_back(self, host: str, epoch: int) -> bool:
        row = self.deployment.service(host)
        return row.epoch > epoch and not row.fenced

    def wait_for_answers(
        self, questions: pathlib.Path, count: int
    ) -> list[str]:
        self.deployment.wait_until(
            lambda: len(guarding_host.answers_of(questions)) >= count,
            f'{count} answers',
        )
        return guarding_host.answers_of(questions)
