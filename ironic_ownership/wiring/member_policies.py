"""Policies of any member, built from the settings that it advertises."""

from __future__ import annotations

from ironic_ownership import plugins
from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import policy_set


def interpret(advertised: model.MemberSettings) -> policy_set.PolicySet | None:
    """Read the settings that a member advertises.

    :returns: its policies, or ``None`` if this process can't build them:
        another contract version, or a policy that is not installed.
    """
    if advertised.contract_version != model.CONTRACT_VERSION:
        return None
    try:
        classes = plugins.policies(p.name for p in advertised.policies)
        return policy_set.PolicySet.of(
            [classes[p.name](dict(p.options)) for p in advertised.policies],
            plugins.origin,
        )
    except Exception:  # noqa: BLE001 - third-party code and options
        return None
