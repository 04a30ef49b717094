"""Detector of servers of the membership store whose clocks differ.

Each service reads the members through its own server. Heartbeats from the
future of that server were accepted by one whose clock is ahead. So of two
servers that services use, one always shows the difference.
"""

from __future__ import annotations

from ironic_ownership.contracts import model
from ironic_ownership.engine.conditions import Conditions

_CONDITION = 'clock skew'

_STEADY = 2.0
"""Seconds by which a lead may change without another report."""


class ClockSkew:
    """The servers that are ahead by more than is tolerated.

    Threading: the refresh thread only.

    :param tolerated: seconds that are not reported.
    """

    def __init__(
        self, host: str, tolerated: float, conditions: Conditions
    ) -> None:
        self._host = host
        self._tolerated = tolerated
        self._conditions = conditions
        self._reported: dict[str, float] = {}

    def observe(self, view: model.View) -> str | None:
        """Return the servers that are ahead, for ``check``; log a change."""
        self._reported = {
            host: self._steady(host, lead)
            for host, lead in sorted(view.ahead.items())
            if lead > self._tolerated
        }
        if not self._reported:
            self._conditions.clear(
                _CONDITION, 'the clocks of the database servers agree again'
            )
            return None
        text = ', '.join(
            f'that of {host} is {lead:.1f} s ahead of that of {self._host}'
            for host, lead in self._reported.items()
        )
        self._conditions.report(
            _CONDITION,
            f'the clocks of the database servers differ: {text}; tolerated '
            f'are {self._tolerated:g} s',
        )
        return text

    def _steady(self, host: str, lead: float) -> float:
        """Return the lead as reported before, unless it really changed.

        Each measurement differs a little; no operator wants a warning and
        no database a write for that.
        """
        before = self._reported.get(host, lead)
        return before if abs(lead - before) < _STEADY else lead
