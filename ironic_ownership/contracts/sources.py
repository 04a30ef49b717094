"""Sources: what a policy decides from besides Ironic, its members and options.

The service that runs the policy reads a source in the background, and
advertises the snapshot that it read with the settings of the policy. So all
processes decide from the same snapshot, also those that cannot read the
source, and the policy stays a pure function.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from ironic_ownership.contracts import model

Read = Callable[[Mapping[str, model.Value]], model.Value]
"""Returns a snapshot, from a value for each option of the policy."""


@dataclasses.dataclass(frozen=True)
class Source:
    """A file, a table or a request that a policy takes a value from.

    Since contract version 2.

    :param name: of the snapshot among the settings of the policy. There it is
        ``None`` until the source was read; a service joins only after that.
    :param read: called in a thread of the service, never for other members,
        with a value for each option of the policy, secret ones included. It
        may block and may raise anything: the service then goes on with the
        last snapshot, and ``check`` names the source. A text, a number, a
        tuple of texts, or ``None``; equal for equal contents, so sort it.
    :param help: one or more sentences: what it is, and where it is from.
    :param interval: seconds between two reads, at least 1.
    :param timeout: seconds after which a read has failed, at most 60.
    :param per_member: the snapshot is advertised for this service alone, and
        no part of what makes peers: see :attr:`Option.per_member`.
    """

    name: str
    read: Read
    help: str
    interval: float = 60.0
    timeout: float = 10.0
    per_member: bool = False
