"""Memory of the scope of policies, for when they fail to return it.

A scope follows from the settings, so it is the same for as long as they are.
"""

from __future__ import annotations

from ironic_ownership.contracts import model


class KnownScope:
    """The scope of all policies with the same settings, once it is known.

    Threading: any thread.
    """

    def __init__(self) -> None:
        self._scope: model.Scope | None = None

    def keep(self, scope: model.Scope) -> None:
        """Remember the scope."""
        self._scope = scope

    def excludes(self, shard: str | None, group: str) -> bool:
        """Tell whether it is known that no node there is in the scope."""
        scope = self._scope
        return scope is not None and not scope.matches(shard, group)
