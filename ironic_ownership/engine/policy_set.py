"""A member's policies, put together: what they admit and who assigns."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable

from ironic_ownership.contracts import model, policy


@dataclasses.dataclass(frozen=True, eq=False)
class PolicySet:
    """The policies of one member, as settings that any process can read.

    :param filters: all of them have to admit a node.
    :param assigner: chooses among several eligible members; without one
        ownership is exclusive.
    """

    filters: tuple[policy.FilterPolicy, ...] = ()
    assigner: policy.AssignerPolicy | None = None

    @classmethod
    def of(cls, policies: Iterable[policy.Policy]) -> PolicySet:
        """Sort policies into filters and the assigner."""
        chosen = tuple(policies)
        return cls(
            tuple(p for p in chosen if isinstance(p, policy.FilterPolicy)),
            next(
                (p for p in chosen if isinstance(p, policy.AssignerPolicy)),
                None,
            ),
        )

    @functools.cached_property
    def scope(self) -> model.Scope:
        """What Ironic may filter on the server for all filters together.

        Source: ironic-shards, "Config changes": shard and group add up.
        """
        return functools.reduce(
            model.Scope.intersect,
            (f.scope() for f in self.filters),
            model.Scope(),
        )

    @functools.cached_property
    def beyond_scope(self) -> tuple[policy.FilterPolicy, ...]:
        """The filters that ask more of a node than to lie in the scope."""
        plain = policy.FilterPolicy.admits
        return tuple(f for f in self.filters if type(f).admits is not plain)

    @property
    def rebalancing(self) -> bool:
        """Whether free nodes may change owner by themselves."""
        return self.assigner is not None and self.assigner.rebalancing

    def admits(self, node: model.Node) -> bool:
        """Tell whether every filter admits the node."""
        return self.scope.matches(node.shard, node.conductor_group) and all(
            f.admits(node) for f in self.beyond_scope
        )


Interpreter = Callable[[model.MemberSettings], PolicySet | None]
"""Reads advertised settings; ``None`` if this process does not know them."""
