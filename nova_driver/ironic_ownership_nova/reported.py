"""Nodes of which Nova's cell and Placement have the current state.

A node that is among them, and has not changed, costs nothing in a pass of the
resource tracker. They are kept in a file, for the next start.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pathlib
import threading
import time
import zlib
from collections.abc import Collection, Mapping

from oslo_log import log

LOG = log.getLogger(__name__)

_FENCES = 16
"""Fences after a registration, at most: each raises the epoch by one. The next
registration raises it by the milliseconds since then."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Report:
    digest: str
    at: float
    written: float | None


class ReportedNodes:
    """Remembers what was reported of each node, and when.

    Threading: any thread.

    :param path: file for the next start.
    :param basis: all that reports depend on besides the node, such as the
        release of Nova: a file of another basis is not used.
    :param interval: seconds for which one report counts.
    :ivar epoch: under which this process is active.
    """

    def __init__(
        self, path: pathlib.Path, basis: str, interval: float
    ) -> None:
        self._path = path
        self._basis = basis
        self._interval = interval
        self.epoch = 0
        self._lock = threading.Lock()
        self._reports: dict[str, _Report] = {}
        self._is_stored = True

    def is_current(self, uuid: str, digest: str) -> bool:
        """Tell whether a node needs no report now."""
        with self._lock:
            report = self._reports.get(uuid)
        if report is None or report.digest != digest:
            return False
        age = time.time() - report.at
        # The wall clock lasts from start to start, but may be set back.
        return 0 <= age < self._interval * _spread(uuid)

    def add(
        self, uuid: str, digest: str, written: float | None = None
    ) -> None:
        """Note that a node was reported.

        :param written: time of the last change of its row in the cell.
        """
        with self._lock:
            self._reports[uuid] = _Report(digest, time.time(), written)
            self._is_stored = False

    def compare(self, rows: Mapping[str, float | None]) -> None:
        """Forget nodes whose rows were written since they were reported.

        Another service has had them, and has reported its own state.

        :param rows: times of the last changes, by the uuid of the node.
        """
        with self._lock:
            known = {u: self._reports.get(u) for u in rows}
        self.discard(
            [
                uuid
                for uuid, report in known.items()
                if report is not None and _differ(report.written, rows[uuid])
            ]
        )

    def discard(self, uuids: Collection[str]) -> None:
        """Forget nodes: what was reported of them may have changed."""
        with self._lock:
            for uuid in uuids:
                if self._reports.pop(uuid, None) is not None:
                    self._is_stored = False

    def load(self, predecessor: int) -> None:
        """Read the file of the last start, if it can be used.

        Not if another process of the service was active since then, on
        another machine: what that has reported is not in this file.

        :param predecessor: epoch of the service before this start.
        """
        try:
            stored = json.loads(self._path.read_text())
            fences = predecessor - stored.get('epoch', float('-inf'))
            if stored['basis'] != self._basis or not 0 <= fences <= _FENCES:
                return
            reports = {
                uuid: _Report(str(digest), float(at), written)
                for uuid, (digest, at, written) in stored['nodes'].items()
            }
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as exc:
            LOG.warning('%s is not used: %s', self._path, exc)
            return
        with self._lock:
            self._reports = reports

    def store(self) -> None:
        """Write the file, if something has changed."""
        with self._lock:
            if self._is_stored:
                return
            self._is_stored = True
            nodes = {
                u: (r.digest, r.at, r.written)
                for u, r in self._reports.items()
            }
        temporary = self._path.with_suffix('.new')
        try:
            temporary.write_text(
                json.dumps(
                    {
                        'basis': self._basis,
                        'epoch': self.epoch,
                        'nodes': nodes,
                    }
                )
            )
            # A process that dies meanwhile leaves the old file.
            temporary.replace(self._path)
        except OSError as exc:
            LOG.warning('%s is not written: %s', self._path, exc)
            with contextlib.suppress(OSError):
                temporary.unlink()


def _differ(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is not other
    # A database may cut fractions of a second off, or round them.
    return abs(one - other) > 1


def _spread(uuid: str) -> float:
    """Return a part between a half and 1, always the same for a node."""
    # Nodes that were reported in one pass are not due in one pass again.
    return 0.5 + zlib.crc32(uuid.encode()) / 2**33
