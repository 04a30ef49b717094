"""Give services a standing order for their deployed nodes, or revoke it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.bare_metal import BareMetal, Enforcement
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.standing_order import StandingOrder
from ironic_ownership.engine.changes.services import ServiceChange, known
from ironic_ownership.engine.ports import Records

if TYPE_CHECKING:
    from ironic_ownership.engine.decision import policy_set


class NotEnforcedError(exceptions.OwnershipError):
    """Ironic does not enforce ownership, which standing orders require."""

    code, http_status, exit_code = 'not_enforced', 409, 3

    def __init__(self, why: str) -> None:
        super().__init__(
            f'Ironic does not enforce ownership: {why}',
            hint='Install ironic-ownership-middleware in Ironic, and set '
            '[enforcement] shared_key in every configuration; see '
            '"Enforcement in Ironic" in the documentation',
        )


def require_enforcement(ironic: BareMetal, shared_key: str) -> None:
    """Make sure that Ironic refuses a service that lost its nodes.

    :raises NotEnforcedError: if it does not.
    :raises IronicError: if it does not answer.
    """
    if not shared_key:
        raise NotEnforcedError('[enforcement] shared_key is not set')
    found = ironic.enforcement(shared_key)
    if found is not Enforcement.ENFORCED:
        raise NotEnforcedError(f'the middleware in Ironic is "{found.value}"')


@dataclasses.dataclass(frozen=True)
class GiveOrder:
    """Give a service a standing order for its deployed nodes, or revoke it.

    :param interpret: of the settings of services, for their scope.
    """

    records: Records
    interpret: policy_set.Interpreter

    def propose(
        self,
        host: str,
        order: StandingOrder | None,
        *,
        whole_scope: bool = False,
    ) -> list[ServiceChange]:
        """Return what the order would change, that of the host first.

        :param host: name of the service (case-insensitive).
        :param order: ``None`` revokes it.
        :param whole_scope: also of all services that advertise its scope.
        :raises NotFoundError: with the nearest names.
        :raises RequestError: if it names itself.
        """
        rows = [named] = [known(self.records, host)]
        if order is not None and order.to is not None:
            to = known(self.records, order.to).host
            order = dataclasses.replace(order, to=to)
            if to == named.host:
                raise exceptions.RequestError(
                    f'{to} cannot take over from itself',
                    hint='Name another service, or none: then the policies '
                    'choose',
                )
        if whole_scope:
            taker = order.to if order is not None else None
            scope = self._scope(named)
            rows += [
                row
                for row in self.records.services()
                if row.host not in (named.host, taker)
                and scope is not None
                and self._scope(row) == scope
            ]
        return [
            ServiceChange(
                row,
                dataclasses.replace(
                    row, order=order, fence_epoch=None, fence_seen_at=None
                ),
                {},
            )
            for row in rows
        ]

    def _scope(self, row: model.Service) -> model.Scope | None:
        if row.never_registered:
            return None
        policies = self.interpret(row.settings)
        return policies.scope if policies else None

    def execute(
        self, proposed: Sequence[ServiceChange], origin: Origin
    ) -> list[ServiceChange]:
        """Make the changes, each as one transaction; repeated, it goes on.

        :raises NotFoundError: if a service was deleted meanwhile.
        """
        return [
            dataclasses.replace(
                one,
                after=self.records.give_order(
                    one.before.host, one.after.order, origin
                ),
            )
            for one in proposed
        ]
