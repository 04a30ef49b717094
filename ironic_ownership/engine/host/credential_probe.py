"""Probe of what the credential of a service may read, before it serves.

A credential that sees too little gets shorter answers, not errors, so the
service would be idle in silence. Ironic refuses these requests to it.
"""

from __future__ import annotations

from collections.abc import Callable

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.inventory import Inventory
from ironic_ownership.engine.conditions import Conditions

LIMITED = 'credential_limited'
"""Code of the condition of a credential that may not read enough."""

ROLES = (
    'the role "reader" with system scope, or the role "service" where Ironic '
    'gives that one access to all nodes'
)


def probe(source: Inventory, conditions: Conditions) -> None:
    """Report what the credential may not read, in one condition.

    A release of Ironic that lacks a request is no fault of the credential.

    :raises IronicUnavailableError: if Ironic does not answer.
    """
    requests: tuple[tuple[str, str, Callable[[], object]], ...] = (
        ('/v1/shards', 'no record is ever deleted', source.shard_counts),
        (
            '/v1/conductors',
            'nodes that are out of service are not found',
            source.conductors,
        ),
    )
    refused, effects, reason = [], [], ''
    for path, effect, request in requests:
        try:
            request()
        except exceptions.IronicTooOldError:
            continue
        except exceptions.IronicUnavailableError:
            raise
        except exceptions.IronicError as exc:
            refused.append(path)
            effects.append(effect)
            reason = reason or str(exc)
    if refused:
        conditions.report(
            'credential',
            f'the credential in [ironic] may not read {", ".join(refused)}, '
            f'and may not see all nodes: {"; ".join(effects)}. It needs '
            f'{ROLES}: {reason}',
            code=LIMITED,
        )
        return
    conditions.clear('credential', 'the credential in [ironic] reads enough')
    conditions.succeeded(Loop.CREDENTIAL)
