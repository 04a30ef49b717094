"""Read instances from Ironic again before free nodes are released.

The nodes of a decision were listed up to minutes ago. One that has an instance
by now stays with its service, which is the only one that may have created it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Mapping, Sequence

from ironic_ownership.contracts import inventory, model
from ironic_ownership.contracts.records import Change, Release, Update


@dataclasses.dataclass(eq=False)
class ReleaseCheck:
    """Check of the releases of one round.

    :param listed: nodes in the scope, as listed for the decision.
    :param others: own nodes outside of the scope, as looked up.
    """

    listed: Mapping[str, model.Node]
    others: Collection[model.Node]
    scope: model.Scope
    source: inventory.Inventory

    def confirm(self, changes: Sequence[Change]) -> list[Change]:
        """Replace releases of nodes that have an instance by updates.

        Costs nothing without a release; otherwise one list of the nodes with
        an instance in a round, and one request for each released node outside
        of the scope.

        :raises IronicError: if Ironic does not answer; nothing may be
            released.
        """
        released = {c.uuid for c in changes if isinstance(c, Release)}
        if not released:
            return list(changes)
        found: dict[str, model.Node | None] = {
            node.uuid: self.source.get(node.uuid)
            for node in self.others
            if node.uuid in released
        }
        for uuid in released - found.keys():
            node = self.listed.get(uuid)
            if node is not None:
                found[uuid] = dataclasses.replace(
                    node, instance_uuid=self._instances.get(uuid)
                )
        return [
            confirmed
            for change in changes
            if (confirmed := _confirmed(change, found)) is not None
        ]

    @functools.cached_property
    def _instances(self) -> Mapping[str, str]:
        return self.source.instances(self.scope)


def _confirmed(
    change: Change, found: dict[str, model.Node | None]
) -> Change | None:
    if not isinstance(change, Release):
        return change
    node = found.get(change.uuid)
    if node is None:
        return None  # gone meanwhile: for the next refresh
    return Update(node) if node.instance_uuid else change
