"""References to nodes by uuid or name, resolved by the records."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Collection, Sequence

from ironic_ownership.engine import suggestions
from ironic_ownership.engine.ports import Records


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


def is_uuid(text: str) -> bool:
    """Tell whether a text is a uuid in Ironic's form, in any case."""
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def resolve(records: Records, texts: Sequence[str]) -> list[Reference]:
    """Return each reference with its compute node.

    The records are read once, as a whole only if there are names; only then
    is a similar uuid proposed for an unknown one.
    """
    uuids = {text.lower() for text in texts if is_uuid(text)}
    only_uuids = all(map(is_uuid, texts))
    if only_uuids:
        found = records.compute_nodes_by_uuid(uuids)
    else:
        found = records.compute_nodes()
    known = {record.uuid for record in found}
    names: dict[str, list[str]] = {}
    for record in found:
        if record.name:
            names.setdefault(record.name, []).append(record.uuid)
    return [
        _by_uuid(text, known, hints=not only_uuids)
        if is_uuid(text)
        else _by_name(text, names)
        for text in texts
    ]


def _by_uuid(text: str, known: Collection[str], *, hints: bool) -> Reference:
    if text.lower() in known:
        return Reference(text, text.lower())
    fault = f'no compute node is on record for {text}'
    if hints:
        fault = f'{fault}. {suggestions.nearest(text.lower(), known)}'
    return Reference(text, None, fault)


def _by_name(text: str, names: dict[str, list[str]]) -> Reference:
    found = names.get(text, ())
    if len(found) == 1:
        return Reference(text, found[0])
    if not found:
        unknown = suggestions.unknown('node', text, list(names))
        return Reference(text, None, str(unknown))
    return Reference(
        text,
        None,
        f'{text!r} is the name of {len(found)} nodes on record: name one by '
        f'its uuid, {suggestions.listed(sorted(found))}',
    )
