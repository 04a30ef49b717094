"""Decision about one request: admitted, or why it is refused. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from ironic_ownership.contracts.request_header import Claim

UNAUTHORIZED, FORBIDDEN, CONFLICT, UNAVAILABLE = 401, 403, 409, 503


@dataclasses.dataclass(frozen=True)
class ServiceRow:
    """A service, as far as the decision depends on it."""

    epoch: int
    fenced: bool
    forced_down: bool


@dataclasses.dataclass(frozen=True)
class NodeRow:
    """A compute node, as far as the decision depends on it."""

    uuid: str
    name: str | None
    host: str | None


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A refused request.

    :param code: stable; of the errors of ironic-ownership where one fits.
    :param owner: the service that owns the node, if that is the reason.
    """

    code: str
    message: str
    hint: str
    status: int = CONFLICT
    owner: str | None = None


UNSIGNED = Refusal(
    'header_required',
    'This user has to send the header X-Ironic-Ownership with requests that '
    'change a node',
    'Use a nova-compute with the driver of ironic-ownership, which sends it. '
    'See require_for in [ownership] of ironic.conf',
    FORBIDDEN,
)
UNKNOWN = Refusal(
    'unauthenticated',
    'The credentials of this request are not confirmed, and some users have '
    'to send the header X-Ironic-Ownership',
    'Authenticate again; if Keystone fails, the log of Ironic has the cause',
    UNAUTHORIZED,
)
BAD_HEADER = Refusal(
    'invalid_header',
    'The header X-Ironic-Ownership has no valid signature for this request',
    'Compare [enforcement] shared_key of the service with [ownership] '
    'shared_keys in ironic.conf, and the clocks of both machines',
    FORBIDDEN,
)
NO_RECORDS = Refusal(
    'records_unavailable',
    'The records of ironic-ownership do not answer, so the owner of the node '
    'is not known',
    'Repeat the request; the log of Ironic has the cause',
    UNAVAILABLE,
)

PROBED = Refusal(
    'fenced',
    'This request only shows that ownership is enforced',
    'There is nothing to do',
)


def decide(  # Model: Admits
    claim: Claim,
    idents: Collection[str],
    service: ServiceRow | None,
    nodes: Sequence[NodeRow],
) -> Refusal | None:
    """Return why a request is refused; ``None`` if it is admitted.

    :param idents: uuids in the form of the records, and names; every one has
        to be found, and every node that is found has to belong to the service.
    """
    refusal = _of_service(claim, service)
    if refusal is not None:
        return refusal
    for node in nodes:
        if node.host != claim.service:
            return _not_owner(claim, node)
    found = {name for node in nodes for name in (node.uuid, node.name)}
    for ident in sorted(idents):
        if ident not in found:
            return Refusal(
                'not_found',
                f'The node {ident} has no record, so {claim.service} does not '
                'own it',
                'Wait until its service has recorded it, after its next '
                'refresh: ironic-ownership compute node explain '
                f'{ident}',
            )
    return None


def _of_service(claim: Claim, service: ServiceRow | None) -> Refusal | None:
    host = claim.service
    if service is None:
        return Refusal(
            'fenced',
            f'{host} is not registered',
            'Start it: it registers, and acts under a new epoch',
        )
    if service.forced_down:
        return Refusal(
            'forced_down',
            f'{host} is forced down',
            f'Run "ironic-ownership service set {host} --up" once nothing '
            'else acts on its nodes',
        )
    if service.fenced or service.epoch != claim.epoch:
        return Refusal(
            'fenced',
            f'{host} was fenced: it acts under the epoch {claim.epoch}, and '
            f'{service.epoch} is the current one',
            'It acts again after it has registered again, on the nodes that '
            'it still owns',
        )
    return None


def _not_owner(claim: Claim, node: NodeRow) -> Refusal:
    host = claim.service
    move = f'ironic-ownership compute node move {node.uuid} --service {host}'
    what = 'it is unowned'
    hint = f'Wait for the next refresh, which may claim it, or run "{move}"'
    if node.host:
        what = f'it belongs to {node.host}'
        hint = f'Send the request from {node.host}, or move the node: {move}'
    return Refusal(
        'not_owner',
        f'{host} does not own the node {node.uuid}: {what}',
        hint,
        owner=node.host,
    )
