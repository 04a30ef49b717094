from __future__ import annotations

import unittest

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model


class TestMemoryBackend(unittest.TestCase):
    def test_outage_fails_every_call_and_expires_no_member(self) -> None:
        store = memory.MemoryStore()
        member = memory.MemoryBackend(
            {}, member_ttl=60, call_timeout=1, store=store
        )
        member.join('host1', 'one', model.MemberSettings())
        store.available = False
        for call in (
            member.beat,
            member.view,
            member.leave,
            lambda: member.advertise(model.MemberSettings()),
            lambda: member.join('host1', 'one', model.MemberSettings()),
        ):
            with self.assertRaises(exceptions.BackendUnavailableError):
                call()
        store.available = True
        self.assertEqual({'host1'}, member.view().hosts)
