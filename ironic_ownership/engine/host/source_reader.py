"""Reader of the sources of this service's policies, in a thread of its own.

A snapshot that differs goes the way of a changed configuration: the policies
are built with it, and it is advertised. A source that fails keeps its last
snapshot, and so does one that hangs: its thread is left alone, and the source
is read again when that ends.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.calls import (
    KeyedCalls,
    UnfinishedError,
    is_interrupt,
)
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.member_settings import is_value
from ironic_ownership.engine.host.tuning import PolicySource, Tuning
from ironic_ownership.engine.worker import LONGEST_PAUSE, Worker, back_off

if TYPE_CHECKING:  # the plugin kit imports this module
    from ironic_ownership.engine.host.reload import Reload

_CONDITION = 'sources'
_POLL = 0.5
"""Seconds after which changed options of a policy count."""


@dataclasses.dataclass
class _Read:
    """The last attempt to read a source."""

    options: Mapping[str, model.Value]
    at: float
    error: str = ''


@dataclasses.dataclass(eq=False)
class SourceReader(Worker):
    """Reads each source when it is due.

    Threading: :meth:`run` after :meth:`begin`.

    :param reload: has the configuration in use, and applies one with other
        snapshots.
    """

    reload: Reload

    first_due = _POLL

    def __post_init__(self) -> None:
        super().__post_init__()
        context = self.reload.member.context
        self.conditions, self._clock = context.conditions, context.clock
        self._calls: KeyedCalls[model.Value] = KeyedCalls()
        self._reads: dict[tuple[str, str], _Read] = {}
        self._snapshots: dict[tuple[str, str], model.Value] = {}
        self._offers, self._offer_at = 0, 0.0

    def begin(self) -> Tuning:
        """Read every source, and return the configuration with all snapshots.

        Called again until it succeeds; reads only what is still missing.

        :raises SourceError: naming those that can't be read.
        :raises OwnershipError: if a policy refuses its snapshot.
        """
        tuning = self.reload.current
        for source in tuning.sources:
            if source.key not in self._snapshots:
                self._read(source)
        self._raise_failures(tuning)
        try:
            begun = tuning.with_snapshots(dict(self._snapshots))
        except exceptions.OwnershipError:
            # Only another snapshot can be accepted, so all are read again.
            self._snapshots.clear()
            raise
        self.conditions.succeeded(Loop.SOURCES)
        return begun

    def step(self) -> float:
        """Read the sources that are due, and offer what has changed."""
        tuning = self.reload.current
        due = [source for source in tuning.sources if self._is_due(source)]
        for source in due:
            before = self._snapshots.get(source.key)
            self._read(source)
            if self._snapshots.get(source.key) != before:
                self._try_to_build(tuning, source, before)
        if due:
            self._report(tuning)
        if tuning.snapshots == self._snapshots:
            self._offers = 0
        elif self._clock() >= self._offer_at:
            wanted = tuning.with_snapshots(dict(self._snapshots))
            if self.reload.follow(wanted, tuning):
                # It may still be refused, as by an Ironic that is too old.
                self._offers += 1
                pause = back_off(self._offers, LONGEST_PAUSE)
                self._offer_at = self._clock() + pause
        return _POLL

    def _is_due(self, source: PolicySource) -> bool:
        last = self._reads.get(source.key)
        return (
            last is None
            or last.options != source.options
            or self._clock() - last.at >= source.source.interval
        )

    def _read(self, source: PolicySource) -> None:
        declared = source.source
        read = self._reads[source.key] = _Read(source.options, self._clock())
        try:
            snapshot = self._calls.result(
                # What was read with other options is another snapshot.
                (*source.key, hash((*source.options.items(),))),
                functools.partial(declared.read, dict(source.options)),
                declared.timeout,
            )
            check_snapshot(snapshot)
        except UnfinishedError:
            read.error = f'it has not been read after {declared.timeout:g} s'
        # An exit as well: it would end this thread.
        except BaseException as exc:
            if is_interrupt(exc):
                raise
            read.error = texts.described(exc)
        else:
            self._snapshots[source.key] = snapshot

    def _try_to_build(
        self, tuning: Tuning, source: PolicySource, before: model.Value
    ) -> None:
        """Take a snapshot back that a policy refuses."""
        try:
            tuning.with_snapshots(self._snapshots)
        except exceptions.OwnershipError as exc:
            self._snapshots[source.key] = before
            self._reads[source.key].error = str(exc)

    def _raise_failures(self, tuning: Tuning) -> None:
        failures = [
            f'the source {source.source.name!r} of {source.origin}: {error}'
            for source in tuning.sources
            if (error := self._reads[source.key].error)
        ]
        if failures:
            raise exceptions.SourceError(
                '; '.join(failures),
                hint='Make it readable, or repair that package: the service '
                'retries automatically',
            )

    def _report(self, tuning: Tuning) -> None:
        try:
            self._raise_failures(tuning)
        except exceptions.SourceError as exc:
            self.conditions.report(_CONDITION, str(exc), exc)
        else:
            self.conditions.succeeded(Loop.SOURCES)
            self.conditions.clear(_CONDITION, 'all sources are read again')


def check_snapshot(value: object) -> None:
    """Validate what a source of a policy has returned.

    :raises TypeError: if it cannot be advertised.
    :raises ValueError: if it is too large.
    """
    if not is_value(value):
        raise TypeError(
            f'it returned a {type(value).__name__}, which is not a text, '
            'number, tuple of texts or None'
        )
    read = model.PolicySettings.of('it', {'snapshot': value})  # type: ignore[dict-item]
    if model.MemberSettings((read,)).size_fault:
        raise ValueError(
            f'it returned more than the {model.MAX_SETTINGS_BYTES} bytes that '
            'can be advertised'
        )
