"""Services whose records were adopted, and that have never registered.

Another program may serve them, which this deployment does not see.
"""

from __future__ import annotations

from ironic_ownership.contracts import reasons
from ironic_ownership.contracts.records import Claim
from tests.unit.engine import service, world


class TestAdoptedServices(service.ServiceCase):
    """host1 and host2 share nodes by a ring; stock has four on record."""

    settings = world.RING

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(world.node, range(1, 5)))
        self.host = self.start('host1', self.settings)
        self.host.refresh()
        self.operator("UPDATE compute_nodes SET host = 'stock'")
        self.operator(
            'INSERT INTO services (host, epoch, disabled, forced_down, '
            "fenced, settings) VALUES ('stock', 0, 0, 0, 0, '')"
        )
        self.other = self.start('host2', self.settings)
        self.settle(self.host, self.other)

    def refresh(self) -> set[str | None]:
        """Return the owners of the four nodes afterwards."""
        for one in (self.host, self.other) * 2:
            one.beat()
            one.refresh()
        return {self.owners()[number] for number in range(1, 5)}

    def force_down(self, forced_down: bool) -> None:
        self.records.set_service('stock', actor='op', forced_down=forced_down)

    def test_peers_take_nothing_from_them_and_claim_what_is_unowned(
        self,
    ) -> None:
        self.ironic.put(world.node(5))
        self.assertEqual({'stock'}, self.refresh())
        self.assertIn(self.owners()[5], ('host1', 'host2'))
        # Up again it is undecided again.
        for forced_down in (True, False):
            self.force_down(forced_down)
        self.assertEqual({'stock'}, self.refresh())

    def test_records_refuse_it_regardless_of_what_a_peer_decides(self) -> None:
        """As an older release of a peer would."""
        claim = Claim(world.node(1), reasons.Reason.ASSIGNED, 'stock', 0)
        outcome = self.records.apply('host1', self.host.fence.epoch(), [claim])
        self.assertEqual((claim,), outcome.refused)
        self.assertEqual((), outcome.fenced)

    def test_after_its_registration_it_is_a_service_like_all(self) -> None:
        stock = self.start('stock', self.settings)
        self.settle(self.host, self.other, stock)
        stock.member.leave()
        self.settle(self.host, self.other)
        self.assertEqual({'host1', 'host2'}, self.refresh())


class TestNamedAdoptedServices(TestAdoptedServices):
    """The same where the list of peers names the adopted service."""

    settings = world.runs(peer_list=('host1', 'host2', 'stock'))

    def test_operator_decides_that_one_is_gone(self) -> None:
        self.refresh()
        # Until then, peers do not even try.
        summary = self.host.refresh()
        self.assertEqual((0, 0), (summary.refused, summary.deferred))
        self.force_down(True)
        self.assertEqual({'host1', 'host2'}, self.refresh())
