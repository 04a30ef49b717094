"""Laws of every membership backend in an outage or after loss of data.

An outage expires no member: "no answer" must never look like "no members".
"""

from __future__ import annotations

from typing import ClassVar

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership_plugin_kit import backend_case

SETTINGS, OTHER = backend_case.SETTINGS, backend_case.OTHER


class OutageContract(backend_case.BackendCase):
    """A store without an answer, and a store without its data.

    ``outage_ttl`` is far longer than every outage of these tests: no member
    expires in one.
    """

    outage_ttl: ClassVar[float] = 300.0

    def joined(
        self,
        host: str,
        incarnation: str,
        settings: model.MemberSettings = SETTINGS,
        ttl: float | None = None,
    ) -> backend.MembershipBackend:
        """Build an instance that has joined before the outage.

        It does not expire in one, unless a test gives it another ``ttl``. The
        calls of these tests give up soon, on a busy machine perhaps before
        the store answers: that is no outage yet.
        """
        made = self.build(self.outage_ttl if ttl is None else ttl)
        self.answered(lambda: made.join(host, incarnation, settings))
        return made

    def test_call_during_an_outage_fails_in_time(self) -> None:
        member = self.joined('host1', 'one')
        self.interrupted()
        self.assert_unavailable(member, member.beat)
        self.assert_unavailable(member, member.view)
        self.assert_unavailable(member, lambda: member.advertise(OTHER))
        self.assert_unavailable(
            member, lambda: member.join('host1', 'one', SETTINGS)
        )

    def test_first_call_during_an_outage_fails_in_time(self) -> None:
        one, two = self.build(), self.build()
        self.interrupted()
        self.assert_unavailable(one, one.view)
        self.assert_unavailable(
            two, lambda: two.join('host1', 'one', SETTINGS)
        )

    def test_outage_expires_no_member(self) -> None:
        one = self.joined('host1', 'one')
        two = self.joined('host2', 'two')
        self.interrupted()
        self.assert_unavailable(one, one.view)
        self.assert_unavailable(one, one.beat)
        self.resume()
        self.assertEqual({'host1', 'host2'}, self.answered(one.view).hosts)
        self.answered(one.beat)
        self.answered(two.beat)

    def test_join_that_failed_succeeds_after_the_outage(self) -> None:
        one = self.build(self.outage_ttl)
        self.interrupted()
        self.assert_unavailable(one, lambda: one.join('host1', 'a', SETTINGS))
        self.resume()
        self.answered(lambda: one.join('host1', 'a', OTHER))
        self.answered(one.beat)
        (member,) = self.answered(one.view).members
        self.assertEqual(('host1', 'a'), (member.host, member.incarnation))

    def test_leaving_during_an_outage_ends_in_time(self) -> None:
        member = self.joined('host1', 'one')
        self.interrupted()
        self.assert_unavailable(member, member.leave)

    def test_closing_during_an_outage_ends_in_time(self) -> None:
        member = self.joined('host1', 'one')
        self.interrupted()
        self.in_time(member.close, member.call_timeout)
        self.in_time(member.close, member.call_timeout)

    def test_member_that_the_store_forgot_is_refused(self) -> None:
        one = self.joined('host1', 'one')
        two = self.joined('host2', 'two')
        self.forget_everything()
        for member in (one, two):
            with self.assertRaises(exceptions.NotMemberError):
                self.answered(member.beat)
        with self.assertRaises(exceptions.NotMemberError):
            self.answered(lambda: one.advertise(OTHER))
        self.assertEqual((), self.answered(one.view).members)

    def test_member_that_the_store_forgot_can_rejoin(self) -> None:
        """Others see by ``joined_at`` that it was lost."""
        one = self.joined('host1', 'one')
        (before,) = self.answered(one.view).members
        self.joined('host2', 'two')
        self.elapse(0.01)
        self.forget_everything()
        self.answered(lambda: one.join('host1', 'one', OTHER))
        self.answered(one.beat)
        (member,) = self.answered(self.build().view).members
        self.assertEqual(
            ('host1', 'one', OTHER),
            (member.host, member.incarnation, member.settings),
        )
        self.assertLess(before.joined_at, member.joined_at)
