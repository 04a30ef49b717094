"""Run the contract suites on an installed plugin, law by law.

For ``ironic-ownership plugin check``: ``unittest`` runs the suites that
authors subclass, and each law becomes a row.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
import unittest
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import Capability, MembershipBackend
from ironic_ownership.contracts.policy import FilterPolicy, Policy
from ironic_ownership_plugin_kit import backend_case
from ironic_ownership_plugin_kit import policy_process as process
from ironic_ownership_plugin_kit.backend import BackendContract
from ironic_ownership_plugin_kit.backend_watch import ChangeContract
from ironic_ownership_plugin_kit.option_values import Given
from ironic_ownership_plugin_kit.policy import (
    AssignerPolicyContract,
    FilterPolicyContract,
)
from ironic_ownership_plugin_kit.time_limit import (
    TimeLimitError,
    in_process,
    limited,
)

_DETAIL = 400
"""Longest explanation of a failure, in characters."""

TIME_LIMIT = 60.0
"""Seconds that one law of a policy may take."""

_GRACE = 5.0
"""Seconds after the time limit until a process is killed."""

_LIVES = 20
"""Times that one law of a backend may wait for members to expire."""

_PATIENCE = 30.0
"""Seconds that a member may take to vanish after its time to live."""

_POLL = 0.1

Heard = Callable[[str], None]
"""Receives each law before it is checked."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """Result of one law.

    :param law: in words.
    :param result: ``pass``, ``fail``, or ``skipped`` if the law says nothing
        about this plugin.
    :param detail: explanation of the result, or a measurement.
    """

    law: str
    result: str
    detail: str = ''

    @property
    def passed(self) -> bool:
        """True if the law is not broken."""
        return self.result != 'fail'


def check_policy(
    target: type[Policy],
    settings: process.Settings,
    heard: Heard = lambda law: None,
    *,
    fleet: Sequence[model.Node] = (),
    peer_values: Given = MappingProxyType({}),
    time_limit: float = TIME_LIMIT,
) -> Iterator[Finding]:
    """Check every law on a policy, each in a process of its own.

    :param settings: the others have their defaults.
    :param fleet: nodes of a deployment, for which it has to work.
    :param peer_values: by the name of an option with ``per_member``, values
        that members advertise besides that of the settings.
    :param time_limit: seconds after which a law is broken.
    """
    is_filter = issubclass(target, FilterPolicy)
    suite = FilterPolicyContract if is_filter else AssignerPolicyContract
    attributes = {
        'policy_class': target,
        'settings': (settings,),
        'fleet': fleet,
        'tried_values': peer_values,
        'time_limit': time_limit,
    }
    for law, test in _laws(type('Checked', (_Notes, suite), attributes)):
        heard(law)
        yield in_process(
            functools.partial(_finding, law, test),
            time_limit + _GRACE,
            functools.partial(Finding, law, 'fail'),
        )


def check_backend(
    target: type[MembershipBackend],
    settings: process.Settings,
    member_ttl: float,
    heard: Heard = lambda law: None,
    sleep: Callable[[float], None] = time.sleep,
    time_limit: float | None = None,
) -> Iterator[Finding]:
    """Check the laws that need no outage on a backend.

    Those of watches as well, if it declares the capability ``WATCH``.

    :param settings: they name a store without members.
    :param member_ttl: in seconds; many laws wait for it.
    :param sleep: lets seconds pass for the store.
    :param time_limit: seconds after which a law is broken; by default what
        the waiting for members takes, and a minute.
    :raises MembershipError: if the store has members, does not answer, or
        is not one store for two instances.
    """
    values = process.with_defaults(target.options, settings)
    limit = time_limit or TIME_LIMIT + _LIVES * member_ttl

    def make(ttl: float = member_ttl) -> MembershipBackend:
        return target(
            dict(values), member_ttl=ttl, call_timeout=max(5.0, member_ttl)
        )

    with (
        limited(limit, target.__name__),
        contextlib.closing(make()) as one,
        contextlib.closing(make()) as other,
    ):
        _check_store(one, other)
        watches = Capability.WATCH in one.capabilities
    suites = (BackendContract, *((ChangeContract,) if watches else ()))
    attributes = {
        'make': staticmethod(make),
        'sleep': staticmethod(sleep),
        'limit': functools.partial(limited, limit, target.__name__),
        'ttl': member_ttl,
    }
    for law, test in _laws(type('Checked', (_Store, *suites), attributes)):
        heard(law)
        yield _finding(law, test)


def _check_store(one: MembershipBackend, other: MembershipBackend) -> None:
    found = one.view().members
    if found:
        raise exceptions.MembershipError(
            f'the store has members already: {found[0].host}',
            hint='Name a store of its own by --option: the check joins it '
            'under names of hosts, and leaves members to expire',
        )
    one.join('host1', 'first-check', backend_case.SETTINGS)
    try:
        if 'host1' not in other.view().hosts:
            raise exceptions.MembershipError(
                'two instances with the same options do not see each other',
                hint='Check the options: both have to name one store',
            )
    finally:
        one.leave()


class _Notes:
    noted = 'pass', ''

    def note(self, text: str) -> None:
        self.noted = 'pass', text

    def inapplicable(self, reason: str) -> None:
        self.noted = 'skipped', reason


class _Store(backend_case.BackendCase):
    """A store that is left empty after each law."""

    make: Callable[..., MembershipBackend]
    sleep: Callable[[float], None]
    limit: Callable[[], contextlib.AbstractContextManager[None]]

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(self.limit())
        self._made: list[MembershipBackend] = []

    def make_backend(self, member_ttl: float) -> MembershipBackend:
        self._made.append(self.make(member_ttl))
        return self._made[-1]

    def elapse(self, seconds: float) -> None:
        self.sleep(seconds)

    def tearDown(self) -> None:
        for made in self._made:
            with contextlib.suppress(exceptions.MembershipError):
                made.leave()
        reader, waited = self.build(), 0.0
        while reader.view().members and waited < self.ttl + _PATIENCE:
            self.sleep(_POLL)
            waited += _POLL
        super().tearDown()


class _Result(unittest.TestResult):
    """Keeps each error as one line, in place of a traceback."""

    def _exc_info_to_string(self, err: Any, test: object) -> str:
        text = ' '.join(str(err[1]).split())
        if not isinstance(err[1], AssertionError | TimeLimitError):
            text = f'{err[0].__name__}: {text}'
        return f'{text[:_DETAIL]}...' if len(text) > _DETAIL else text


def _laws(suite: Any) -> Iterator[tuple[str, unittest.TestCase]]:
    for name in unittest.TestLoader().getTestCaseNames(suite):
        yield name.removeprefix('test_').replace('_', ' '), suite(name)


def _finding(law: str, test: unittest.TestCase) -> Finding:
    result = _Result()
    unittest.TestSuite([test]).run(result)
    for _, text in (*result.failures, *result.errors):
        return Finding(law, 'fail', text)
    return Finding(law, *getattr(test, 'noted', ('pass', '')))
