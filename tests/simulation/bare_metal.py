"""A model of Ironic, which passes the contract suite of the real one."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.contracts.bare_metal import Enforcement
from tests.contract.suites import fake_bare_metal
from tests.simulation.loop import Loop


class Ironic(fake_bare_metal.FakeBareMetal):
    """A model of Ironic whose lists may be truncated.

    :ivar sees: share of the nodes that a list has.
    :ivar gone_at: when a node was deleted.
    :ivar deployed_at: when a node got its instance.
    :ivar on_list: called with the scope of each list.
    """

    sees = 1.0

    def __init__(self, loop: Loop, nodes: Sequence[model.Node]) -> None:
        super().__init__(nodes, clock=lambda: loop.EPOCH + loop.now)
        self.middleware = Enforcement.ENFORCED
        self.loop = loop
        self.calls = collections.deque(maxlen=1)
        self.gone_at: dict[str, float] = {}
        self.deployed_at: dict[str, float] = {}
        self.on_list: Callable[[str, model.Scope], None] = lambda *_: None

    def _within(self, scope: model.Scope) -> list[model.Node]:
        found = super()._within(scope)
        return found[: max(1, int(len(found) * self.sees))]

    def _called(self, method: str, argument: object) -> None:
        scope = argument[0] if isinstance(argument, tuple) else argument
        if isinstance(scope, model.Scope):
            self.on_list(method, scope)
        super()._called(method, argument)

    def change(self, uuid: str, **values: Any) -> None:
        """Change a node."""
        self.put(dataclasses.replace(self.nodes[uuid], **values))
        if 'instance_uuid' in values:
            self.deployed_at[uuid] = self.loop.now

    def delete(self, uuid: str) -> None:
        """Delete a node."""
        del self.nodes[uuid]
        self.gone_at[uuid] = self.loop.now


@dataclasses.dataclass
class Given(collections.UserDict[str, model.Node]):
    """The nodes, which change in Ironic when one is given out."""

    ironic: Ironic

    @property
    def data(self) -> dict[str, model.Node]:  # type: ignore[override]
        return self.ironic.nodes

    def __setitem__(self, uuid: str, node: model.Node) -> None:
        self.ironic.change(uuid, instance_uuid=node.instance_uuid)
