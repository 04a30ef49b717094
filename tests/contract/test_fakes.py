"""The fakes for plugin authors keep the contracts of the real ones.

``test_inventory`` does it for the fake Ironic.
"""

from __future__ import annotations

import unittest

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.policies import shard_key
from ironic_ownership_plugin_kit import backend, fakes
from tests.contract.suites import record_claims, record_services


class TestMembership(backend.BackendContract):
    def setUp(self) -> None:
        super().setUp()
        self.clock = fakes.FakeClock()
        self.membership = fakes.FakeMembership(self.clock, self.ttl)

    def make_backend(self, member_ttl: float):
        if member_ttl == self.ttl:
            return self.membership.backend()
        other = fakes.FakeMembership(self.clock, member_ttl)
        other._store = self.membership._store
        return other.backend()

    def elapse(self, seconds: float) -> None:
        self.clock.elapse(seconds)


class _OnRecords(unittest.TestCase):
    def setUp(self) -> None:
        self._records = self.enterContext(fakes.records())
        super().setUp()

    def make_records(self):
        return self._records


class TestServices(_OnRecords, record_services.ServiceContract):
    pass


class TestClaims(_OnRecords, record_claims.ClaimContract):
    pass


class TestFakes(unittest.TestCase):
    def test_members_advertise_expire_and_the_store_fails(self) -> None:
        clock = fakes.FakeClock()
        membership = fakes.FakeMembership(clock)
        policy = shard_key.ShardKeyPolicy({'shard_key': 'a'})
        membership.join('host1', ('shard_key', policy))
        clock.elapse(15)
        membership.join('host2')
        self.assertEqual({'host1', 'host2'}, membership.view().hosts)
        member = membership.view().get('host1')
        assert member is not None
        self.assertEqual(
            (model.PolicySettings.of('shard_key', {'shard_key': 'a'}),),
            member.settings.policies,
        )
        clock.elapse(10)
        self.assertEqual({'host2'}, membership.view().hosts)
        membership.fail()
        with self.assertRaises(exceptions.BackendUnavailableError):
            membership.view()
        membership.fail(False)
        membership.view()

    def test_two_records_do_not_know_each_other(self) -> None:
        with fakes.records() as one, fakes.records() as other:
            one.register('host1', model.MemberSettings())
            self.assertEqual(1, len(one.services()))
            self.assertEqual(0, len(other.services()))
