"""Local member on fake records, with a peer in memory."""

from __future__ import annotations

import unittest
from unittest.mock import ANY

from ironic_ownership.backends import memory
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine import conditions
from ironic_ownership.engine.membership import local_member, registration
from ironic_ownership.engine.membership.fence import Fence
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.ports import Ports
from ironic_ownership_plugin_kit.fakes import FakeClock
from tests.unit.engine import world

TTL, MARGIN = 20.0, 1.0
LOGGER = 'ironic_ownership.engine'


class FakeRecords:
    """The records, as far as a member uses them, with one service."""

    def __init__(self) -> None:
        self.epoch = 0
        self.settings: model.MemberSettings | None = None
        self.active: str | None = None
        self.forced_down = self.fenced = self.deleted = False
        self.retired: list[float] = []
        self.requested = 0
        self.fail_with: Exception | None = None

    def register(
        self, host, settings, *, incarnation, alive, seen_epoch=None
    ) -> int:
        if self.fail_with is not None:
            raise self.fail_with
        if self.forced_down:
            raise exceptions.FencedError('forced down')
        if self.active not in (None, incarnation) and (
            alive is None
            or self.active in alive
            or (seen_epoch not in (None, self.epoch) and not self.fenced)
        ):
            raise exceptions.StandbyError(host, self.active, self.epoch)
        self.epoch += 1
        self.fenced = self.deleted = False
        self.active = incarnation
        self.settings = settings
        return self.epoch

    def advertise(self, host, epoch, settings) -> None:
        if self.fail_with is not None:
            raise self.fail_with
        if self.forced_down or self.fenced or epoch != self.epoch:
            raise exceptions.FencedError('another epoch')
        self.settings = settings

    def retire(self, host, epoch, *, grace) -> None:
        if self.fail_with is not None:
            raise self.fail_with
        if epoch != self.epoch:
            raise exceptions.FencedError('another epoch')
        self.epoch += 1
        self.active = None
        self.retired.append(grace)

    def fail_over(self, incarnation: str) -> None:
        self.epoch += 1
        self.active, self.fenced = incarnation, True

    def service(self, host: str) -> model.Service | None:
        self.requested += 1
        if self.fail_with is not None:
            raise self.fail_with
        if self.deleted:
            return None
        return model.Service(
            host,
            self.epoch,
            forced_down=self.forced_down,
            fenced=self.fenced or self.forced_down,
            incarnation=self.active,
            settings=self.settings or world.ALL,
        )


class MemberCase(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = FakeClock()
        self.store = memory.MemoryStore(self.clock)
        self.records = FakeRecords()
        self.fence = Fence(TTL, MARGIN, self.clock)
        self.conditions = conditions.Conditions()
        self.changes = 0
        self.died: list[frozenset[str]] = []
        self.backend = self.build_backend()
        self.member = self.build()

    def build_backend(self) -> memory.MemoryBackend:
        return memory.MemoryBackend(
            {}, member_ttl=TTL, call_timeout=5, store=self.store
        )

    def build(
        self, run_in_background: registration.Runner = lambda work: work()
    ) -> local_member.LocalMember:
        member = local_member.LocalMember(
            ServiceContext(
                'host1',
                Ports(self.records, ANY, self.backend, world.interpret),
                self.fence,
                self.conditions,
                self.clock,
            ),
            world.ALL,
        )
        member.on_change = self.changed
        member.registration.run_in_background = run_in_background
        return member

    def changed(self, died: frozenset[str]) -> None:
        self.changes += 1
        if died:
            self.died.append(died)

    def other(self, host: str, name: str = 'another') -> memory.MemoryBackend:
        joined = self.build_backend()
        joined.join(host, name, world.ALL)
        return joined

    def settle(self) -> None:
        for _ in range(6):
            self.clock.elapse(4)
            self.member.beat()

    def incarnation(self) -> str:
        return self.backend.view().get('host1').incarnation
