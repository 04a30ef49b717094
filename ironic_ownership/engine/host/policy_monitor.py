"""Watch the policies decide: what fails or takes long is told and stored.

Stops nobody: a policy that takes its time keeps the refreshes waiting, and
nothing else. Heartbeats go on, no owner changes, and what is written in the
end is checked against the fence and the records of that moment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from oslo_log import log

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.decision import plugin_guard
from ironic_ownership.engine.host import status_report
from ironic_ownership.engine.host.operator_log import OperatorLog

LOG = log.getLogger(__name__)

PATIENCE = 10.0
"""Seconds that all policies together may take for one refresh: a hundred
times what 100,000 nodes take."""


class PolicyMonitor:
    """Watches the decisions of one service.

    Threading: the refresh thread only.

    :param said: where a fault is stored.
    :param patience: seconds after which the policies are slow.
    """

    def __init__(
        self,
        said: status_report.StatusReport,
        operator_log: OperatorLog,
        patience: float = PATIENCE,
    ) -> None:
        self._said = said
        self._operator_log = operator_log
        self._patience = patience

    @contextlib.contextmanager
    def deciding(self, view: model.View) -> Iterator[None]:
        """Watch the policies that are called in this context.

        :param view: the members that are decided with.
        :raises PluginFaultError: if one of them fails.
        """

        def tell(calling: str) -> None:
            fault = f'{calling} takes longer than {self._patience:g} s'
            self._operator_log.policies_are_slow(fault)
            self._store(fault, view)

        try:
            with plugin_guard.watched(self._patience, tell) as slow:
                yield
        except exceptions.PluginFaultError as exc:
            self._store(str(exc), view)
            raise
        if not slow.is_set():
            self._operator_log.policies_are_in_time()
            self._store(None, view)

    def _store(self, fault: str | None, view: model.View) -> None:
        self._said.plugin_fault = fault
        try:
            self._said.store(view)
        except exceptions.OwnershipError as exc:
            LOG.debug('what the policies do could not be stored: %s', exc)
