"""Notifications of a real host, through a real broker that goes and comes."""

from __future__ import annotations

import sys
from typing import Any

from ironic_ownership.contracts.conditions import Loop
from lab import notifications, rabbitmq
from tests.functional.support import databases, host_process, hosts

_TOPIC = 'ironic_ownership_versioned_notifications'


class TestNotifications(hosts.HostsTestCase):
    def setUp(self) -> None:
        super().setUp()
        directory = databases.temporary_directory('notifications')
        directory.chmod(0o755)  # for its own user
        self.broker = rabbitmq.RabbitMQ(directory)
        self.broker.begin()
        self.addCleanup(self.broker.stop)
        self.deployment.more = {
            'notifications': {'transport_url': self.broker.url}
        }
        # Behind our own packages, which stay those of this environment.
        self.deployment.command = (
            *(sys.executable, '-c'),
            f'import sys; sys.path.append({str(notifications.libraries())!r});'
            + host_process.COMMAND[-1],
        )
        self.broker.wait()
        self.listener = notifications.Listener(
            directory, self.broker.url, _TOPIC
        )
        self.addCleanup(self.listener.process.kill)
        self.listener.process.start()

    def received(self) -> dict[int, dict[str, Any]]:
        return {
            one['payload']['ironic_ownership_object.data']['id']: one
            for one in self.listener.received
        }

    def wait_for_history(self) -> None:
        self.deployment.wait_until(
            lambda: (
                {event.id for event in self.deployment.records.events()}
                == set(self.received())
            ),
            'a notification of each event',
        )

    def fails(self) -> bool:
        """Tell whether the condition of the notifications is an error."""
        return any(
            one.code == 'notifications_unavailable'
            for report in self.deployment.records.condition_reports().values()
            for one in report.failing
            if one.loop == Loop.NOTIFICATIONS
        )

    def test_events_are_sent_and_wait_for_a_broker_that_is_away(self) -> None:
        host = self.deployment.start('host1', 'all')
        first = self.enrolment.enrol(2)
        self.deployment.wait_until(
            lambda: set(self.deployment.owners()) == set(first), 'owners'
        )
        self.wait_for_history()
        # The payload is in unit/clients/test_notifications.
        self.assertEqual(
            {('ironic-ownership-host:host1', 'ownership.owner_changed')},
            {
                (one['publisher_id'], one['event_type'])
                for one in self.received().values()
                if one['event_type'].endswith('owner_changed')
            },
        )
        self.broker.kill()
        second = self.enrolment.enrol(1)
        self.deployment.wait_until(
            lambda: set(self.deployment.owners()) == {*first, *second},
            'owner while the broker is down',
        )
        self.deployment.wait_until(self.fails, 'condition')
        self.assertEqual(0, host.terminate())
        self.assertEqual([], host.lines('Traceback'))
        self.deployment.start('host1', 'all')
        self.broker.start()
        self.wait_for_history()
        self.deployment.wait_until(lambda: not self.fails(), 'recovery')
