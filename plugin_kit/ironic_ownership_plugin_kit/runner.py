"""Run the contract suites on an installed plugin, law by law.

For ``ironic-ownership plugin check``, and other callers that need rows and
no test runner. The suites are those that the author subclasses.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
import unittest
from collections.abc import Callable, Iterator, Sequence
from types import MappingProxyType, TracebackType
from typing import Any, ClassVar

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.capabilities import Capability
from ironic_ownership.contracts.policy import FilterPolicy, Policy
from ironic_ownership_plugin_kit import backend_case, law_process, policy_laws
from ironic_ownership_plugin_kit import policy_process as process
from ironic_ownership_plugin_kit.backend import BackendContract
from ironic_ownership_plugin_kit.backend_watch import ChangeContract
from ironic_ownership_plugin_kit.peer_values import Given
from ironic_ownership_plugin_kit.policy import (
    AssignerPolicyContract,
    FilterPolicyContract,
)
from ironic_ownership_plugin_kit.time_limit import TimeLimitError, limited

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

_Error = (
    tuple[type[BaseException], BaseException, TracebackType]
    | tuple[None, None, None]
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """Result of one law.

    :param law: in words.
    :param passed: also if it does not apply.
    :param detail: explanation of a failure or why it does not apply, or a
        measurement.
    :param skipped: whether it does not apply to this plugin.
    """

    law: str
    passed: bool
    detail: str = ''
    skipped: bool = False


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
    suite: type[policy_laws.PolicyContract] = (
        FilterPolicyContract
        if issubclass(target, FilterPolicy)
        else AssignerPolicyContract
    )
    yield from _run(
        type(
            'Checked',
            (_Notes, suite),
            {
                'policy_class': target,
                'settings': (settings,),
                'fleet': fleet,
                'tried_values': peer_values,
                'time_limit': time_limit,
            },
        ),
        heard,
        lambda test: law_process.run(
            functools.partial(_finding, test),
            time_limit + _GRACE,
            functools.partial(Finding, _law(test), False),
        ),
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
    timeout = max(5.0, member_ttl)
    limit = time_limit or TIME_LIMIT + _LIVES * member_ttl
    with (
        limited(limit, target.__name__),
        contextlib.ExitStack() as stack,
    ):
        one, other = (
            stack.enter_context(
                contextlib.closing(
                    target(
                        dict(values),
                        member_ttl=member_ttl,
                        call_timeout=timeout,
                    )
                )
            )
            for _ in range(2)
        )
        _check_store(one, other)
        declared = one.capabilities
    yield from _run(
        type(
            'Checked',
            (
                _Store,
                BackendContract,
                *((ChangeContract,) if Capability.WATCH in declared else ()),
            ),
            {
                'target': target,
                'values': values,
                'ttl': member_ttl,
                'call_timeout': timeout,
                'sleep': staticmethod(sleep),
                'time_limit': limit,
            },
        ),
        heard,
        _finding,
    )


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
    noted: str
    skipped: bool

    def note(self, text: str) -> None:
        self.noted = text

    def inapplicable(self, reason: str) -> None:
        self.noted, self.skipped = reason, True


class _Store(backend_case.BackendCase):
    """A store that is left empty after each law."""

    target: ClassVar[type[MembershipBackend]]
    values: ClassVar[dict[str, model.Value]]
    call_timeout: ClassVar[float]
    time_limit: ClassVar[float]

    @staticmethod
    def sleep(seconds: float) -> None:
        time.sleep(seconds)

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(limited(self.time_limit, self.target.__name__))
        self._made: list[MembershipBackend] = []

    def make_backend(self, member_ttl: float) -> MembershipBackend:
        made = self.target(
            dict(self.values),
            member_ttl=member_ttl,
            call_timeout=self.call_timeout,
        )
        self._made.append(made)
        return made

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
    """Keeps the first error of each test."""

    def __init__(self) -> None:
        super().__init__()
        self.found: BaseException | None = None

    def addError(  # noqa: N802 - the name of unittest
        self, test: unittest.TestCase, err: _Error
    ) -> None:
        self._keep(err)

    def addFailure(  # noqa: N802 - as above
        self, test: unittest.TestCase, err: _Error
    ) -> None:
        self._keep(err)

    def addSubTest(  # noqa: N802 - as above
        self,
        test: unittest.TestCase,
        subtest: unittest.TestCase,
        err: _Error | None,
    ) -> None:
        if err is not None:
            self._keep(err)

    def _keep(self, err: _Error) -> None:
        self.found = self.found or err[1]


def _run(
    suite: Any, heard: Heard, check: Callable[[unittest.TestCase], Finding]
) -> Iterator[Finding]:
    suite.setUpClass()
    try:
        for name in unittest.TestLoader().getTestCaseNames(suite):
            test = suite(name)
            heard(_law(test))
            yield check(test)
    finally:
        suite.tearDownClass()
        suite.doClassCleanups()


def _law(test: unittest.TestCase) -> str:
    name = test.id().rpartition('.')[2]
    return name.removeprefix('test_').replace('_', ' ')


def _finding(test: unittest.TestCase) -> Finding:
    result = _Result()
    test.run(result)
    error = result.found
    if error is not None:
        return Finding(_law(test), False, _text(error))
    return Finding(
        _law(test),
        True,
        getattr(test, 'noted', ''),
        getattr(test, 'skipped', False),
    )


def _text(error: BaseException) -> str:
    text = ' '.join(str(error).split())
    if not isinstance(error, AssertionError | TimeLimitError):
        text = f'{type(error).__name__}: {text}'
    return f'{text[:_DETAIL]}...' if len(text) > _DETAIL else text
