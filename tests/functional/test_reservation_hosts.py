"""Host processes under the policy ``reservation``, with a real Ironic."""

from __future__ import annotations

from lab import faketime, postgresql
from tests.functional.support import databases, hosts, reservation_case

HOUR = 3600
"""Until a reservation expires."""


class _HostsCase(hosts.HostsTestCase, reservation_case.ReservingTestCase):
    """Processes of services refresh while others reserve."""

    count = 5

    def setUp(self) -> None:
        super().setUp()
        self.deployment.stop()
        self.deployment = self.deploy(self.lab.url)
        self.deployment.endpoint = self.lab.ironic

    def start(self, *names: str, **sections: object) -> None:
        for name in names:
            self.deployment.start(name, 'reservation', **sections)
        self.deployment.wait_for_members(*names)

    def wait_until_sound(self) -> None:
        """Wait until all processes agree."""

        def is_sound() -> bool:
            held = self.held_by_ironic()
            return held == self.owned() == self.active() == self.allocated()

        self.deployment.wait_until(is_sound, 'agreement')


class HostsTest(_HostsCase):
    """Two processes of two services."""

    def test_node_whose_instance_is_destroyed_is_free_again(self) -> None:
        self.start('rack1', 'rack2')
        one = reservation_case.instance()
        made = reservation_case.result(self.create(one))
        # As Ironic does when the instance is undeployed.
        self.server.request('DELETE', f'/allocations/{one}')
        self.wait_until_sound()
        self.assertEqual({}, self.active())
        again = reservation_case.result(
            self.create(
                reservation_case.instance(),
                *('--node', made['node_uuid']),
                host='rack2',
            )
        )
        self.assertEqual('rack2', self.deployment.owners()[again['node_uuid']])
        self.assert_sound()

    def test_what_is_never_confirmed_expires_and_what_is_used_does_not(
        self,
    ) -> None:
        self.start('rack1')
        kept, lost = reservation_case.instance(), reservation_case.instance()
        made = reservation_case.result(self.create(kept))
        reservation_case.result(self.create(lost))
        with self.server.sql() as database:
            database.execute(
                "UPDATE nodes SET provision_state = 'active' WHERE uuid = ?",
                (made['node_uuid'],),
            )
        self.deployment.wait_until(
            lambda: self.reservations.of_instance(kept).confirmed,
            'confirmation',
        )
        self.age(7200)
        self.deployment.wait_until(
            lambda: not self.reservations.of_instance(lost), 'expiry'
        )
        self.wait_until_sound()
        self.assertEqual([kept], list(self.active()))


class ClockTest(_HostsCase):
    """The clock of the database jumps, and no other one."""

    def records_url(self) -> str:
        directory = databases.temporary_directory('clock')
        directory.chmod(0o755)
        self.clock = faketime.Clock(directory)
        server = postgresql.PostgreSQL(
            databases.temporary_directory('postgresql'), self.clock.env
        )
        self.addCleanup(server.stop)
        server.start()
        return server.create_database('records')

    def test_expiry_goes_by_the_clock_of_the_database(self) -> None:
        self.clock.jump(HOUR)
        self.start('rack1')
        one, *others = (reservation_case.instance() for _ in range(3))
        for each in (one, *others):
            reservation_case.result(self.create(each))
        # Back by an hour, and longer than it would have had to live.
        for seconds, other in zip((0, HOUR * 1.5), others, strict=True):
            self.clock.jump(seconds)
            # The refresh that ends this one evaluates the other as well.
            self.server.request('DELETE', f'/allocations/{other}')
            self.deployment.wait_until(
                lambda other=other: not self.reservations.of_instance(other),
                'end of a reservation',
            )
            self.assertIsNotNone(self.reservations.of_instance(one))
        self.clock.jump(HOUR * 2.5)
        self.deployment.wait_until(
            lambda: not self.reservations.of_instance(one), 'expiry'
        )
        self.wait_until_sound()
