"""Probe of what the credential of a service may read, before it serves.

A credential that sees too little gets shorter answers, not errors, so the
service would be idle in silence. Ironic refuses these requests to it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.deletion.missing_nodes import Limits
from ironic_ownership.engine.membership.service_context import ServiceContext

LIMITED = 'credential_limited'
"""Code of the condition of a credential that may not read enough."""

BLIND = 'credential_blind'
"""Code of the condition of a credential that may not see all nodes."""

ROLES = (
    'the role "reader" with system scope, or the role "service" where Ironic '
    'gives that one access to all nodes'
)
_SHARDS, _CONDUCTORS = '/v1/shards', '/v1/conductors'
_EFFECTS = {
    _SHARDS: 'it may not see all nodes, and no record is ever deleted',
    _CONDUCTORS: 'nodes that are out of service are not found',
}


def probe(context: ServiceContext, limits: Limits) -> None:
    """Report what the credential may not read, in one condition.

    :param limits: state whether the operator trusts it to see all nodes.
    :raises IronicUnavailableError: if Ironic does not answer.
    """
    ironic, conditions = context.ports.ironic, context.conditions
    requests: dict[str, Callable[[], object]] = {
        _SHARDS: ironic.shard_counts,
        _CONDUCTORS: ironic.conductors,
    }
    if limits.trusts_credential:
        del requests[_SHARDS]
    refused = {}
    for path, request in requests.items():
        try:
            request()
        except exceptions.IronicUnavailableError:
            raise
        except exceptions.IronicError as exc:
            refused[path] = str(exc)
    if not refused:
        conditions.clear('credential', 'the credential in [ironic] is enough')
        conditions.succeeded(Loop.CREDENTIAL)
        return
    blind = _SHARDS in refused
    effects = '; '.join(_EFFECTS[path] for path in refused)
    conditions.report(
        'credential',
        f'the credential in [ironic] may not read {", ".join(refused)}: '
        f'{effects}. It needs {ROLES}: {next(iter(refused.values()))}',
        code=BLIND if blind else LIMITED,
        level=logging.ERROR if blind else logging.WARNING,
    )
