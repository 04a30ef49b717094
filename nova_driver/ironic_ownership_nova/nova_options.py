"""Policies that follow from the options of a nova-compute.

Pure. Nova's own driver for Ironic enables a filter by its option alone.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class NovaPolicies:
    """The value of ``[ownership] policies`` that does the same as Nova.

    :param uses_peer_list: whether ``[ironic] peer_list`` counts; otherwise
        the peers are all live services.
    """

    policies: tuple[str, ...]
    uses_peer_list: bool


def derive(shard: str | None, conductor_group: str | None) -> NovaPolicies:
    """Return the policies of a service with these options in ``[ironic]``.

    Nova uses the list of peers only with a conductor group and without a
    shard. With a shard each service is alone in its ring: that is what the
    policy ``shard_key`` does alone.

    :param shard: unset if empty, as in Nova.
    :param conductor_group: ``None`` if unset; empty is the default group.
    """
    configured = {
        'shard_key': bool(shard),
        'conductor_group': conductor_group is not None,
        'peer_list': not shard,
    }
    return NovaPolicies(
        tuple(name for name, is_set in configured.items() if is_set),
        uses_peer_list=conductor_group is not None and not shard,
    )
