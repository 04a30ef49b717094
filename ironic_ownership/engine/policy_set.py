"""A member's policies, put together: what they admit and who assigns."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator

from ironic_ownership.contracts import exceptions, model, policy


@contextlib.contextmanager
def faults_of(plugin: policy.Policy, method: str) -> Iterator[None]:
    """Name the plugin that raises in this context.

    :raises PluginFaultError: instead of whatever the plugin raised.
    """
    try:
        yield
    except Exception as exc:
        raise exceptions.PluginFaultError(
            f'{type(plugin).__name__}.{method} failed: '
            f'{type(exc).__name__}: {exc}',
            hint='Repair that policy, or take it out of [ownership] policies',
        ) from exc


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

        :raises PluginFaultError: if a filter fails to say.
        """
        scope = model.Scope()
        for filter_ in self.filters:
            with faults_of(filter_, 'scope'):
                scope = scope.intersect(filter_.scope())
        return scope

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
        """Tell whether every filter admits the node.

        :raises PluginFaultError: if a filter fails to say.
        """
        if not self.scope.matches(node.shard, node.conductor_group):
            return False
        for filter_ in self.beyond_scope:
            with faults_of(filter_, 'admits'):
                if not filter_.admits(node):
                    return False
        return True


Interpreter = Callable[[model.MemberSettings], PolicySet | None]
"""Reads advertised settings; ``None`` if this process does not know them."""
