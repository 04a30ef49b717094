"""Suggestions: near names for an unknown one, and how a node changes owner.

Shared by all edges, for the same wording everywhere.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.texts import is_uuid, listed, phrase

if TYPE_CHECKING:
    from ironic_ownership.engine.ports import Records

_PROGRAM = 'ironic-ownership'
_SHOWN = 10

HAND_OVER = (
    f'stop {{owner}}, then: {_PROGRAM} service set {{owner}} --down, and '
    f'{_PROGRAM} compute node move {{uuid}} --to {{host}}; then start '
    f'{{owner}} again: {_PROGRAM} service set {{owner}} --up'
)
"""How to move a node away from a service that runs."""

RELEASE = f'{_PROGRAM} compute node release {{uuid}}, then {{host}} claims it'
"""How a free node changes its service while both run."""


def unknown(
    what: str, name: str, known: Collection[str]
) -> exceptions.NotFoundError:
    """Return the error for a name that does not exist.

    :param what: kind of thing, such as ``service``.
    :param known: existing names; the nearest are suggested.
    """
    if known:
        hint = nearest(name, known)
    elif what == 'node':  # which may be on record without a name
        hint = 'No node on record has a name'
    else:
        hint = f'No {what}s are registered yet'
    return exceptions.NotFoundError(f'{what} {name!r} is not known', hint=hint)


def nearest(name: str, known: Collection[str]) -> str:
    """Return a hint with similar names, or else with existing ones."""
    names = sorted(known)
    near = difflib.get_close_matches(
        name, names, n=3, cutoff=0.5
    ) or difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    if near:
        return f'Did you mean {phrase(near, "or")}?'
    if not names:
        return 'There are none yet'
    return f'Known are: {listed(names, _SHOWN)}'


def known_service(
    host: str, hosts: Collection[str], what: str = 'service'
) -> str:
    """Return the canonical name of a service that exists.

    :param host: its name (case-insensitive).
    :param what: kind of thing, if the hosts are not those of all services.
    :raises NotFoundError: with the nearest names.
    """
    canonical = model.canonical_host(host)
    if canonical not in hosts:
        raise unknown(what, host, hosts)
    return canonical


def service_named(records: Records, host: str) -> model.Service:
    """Return a service by its name (case-insensitive).

    :raises NotFoundError: with the nearest names.
    """
    rows = {row.host: row for row in records.services()}
    return rows[known_service(host, rows)]


@dataclasses.dataclass(frozen=True, slots=True)
class Reference:
    """One reference, and the compute node on record that it names.

    :param text: the uuid, in any case, or the name.
    :param uuid: of the compute node; ``None`` if there is not exactly one.
    :param fault: one sentence, if there is none or several.
    """

    text: str
    uuid: str | None = None
    fault: str | None = None


def resolve(records: Records, texts: Sequence[str]) -> list[Reference]:
    """Return each reference with its compute node.

    The records are read once, as a whole only if there are names; only then
    is a similar uuid proposed for an unknown one.
    """
    only_uuids = all(map(is_uuid, texts))
    if only_uuids:
        found = records.compute_nodes_by_uuid({t.lower() for t in texts})
    else:
        found = records.compute_nodes()
    known = {record.uuid for record in found}
    names: dict[str, list[str]] = {}
    for record in found:
        if record.name:
            names.setdefault(record.name, []).append(record.uuid)
    references = []
    for text in texts:
        if not is_uuid(text):
            references.append(_by_name(text, names))
        elif text.lower() in known:
            references.append(Reference(text, text.lower()))
        else:
            fault = f'no compute node is on record for {text}'
            if not only_uuids:
                fault = f'{fault}. {nearest(text.lower(), known)}'
            references.append(Reference(text, None, fault))
    return references


def _by_name(text: str, names: dict[str, list[str]]) -> Reference:
    found = names.get(text, ())
    if len(found) == 1:
        return Reference(text, found[0])
    if not found:
        return Reference(text, None, str(unknown('node', text, list(names))))
    return Reference(
        text,
        None,
        f'{text!r} is the name of {len(found)} nodes on record: name one by '
        f'its uuid, {listed(sorted(found))}',
    )
