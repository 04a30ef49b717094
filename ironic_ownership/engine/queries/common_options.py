"""Options that all processes of a deployment need alike.

Each process advertises its own. A command that has others sees other members,
or changes only some of the tables.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.engine.ports import Records

Lines = tuple[str, ...]


def reporting(
    services: Iterable[model.Service], reports: Mapping[str, ConditionReport]
) -> Iterator[model.Service]:
    """Yield the services that work, whether they are members here or not."""
    for row in services:
        report = reports.get(row.host)
        if report is not None and not report.is_outdated:
            yield row


def differences(found: Mapping[Lines, Iterable[str]]) -> str:
    """Return the lines that not all have, in one line.

    :param found: hosts, or other names, by their lines.
    """
    shared = frozenset[str].intersection(*map(frozenset, found))
    return '; '.join(
        f'{texts.listed(sorted({*names}))}: '
        + (', '.join(one for one in lines if one not in shared) or 'nothing')
        for lines, names in found.items()
    )


def require(records: Records, own: Callable[[], Lines]) -> None:
    """Check that at least one of the services that work has these options.

    Some may have others for a time: ``check`` finds that.

    :param own: returns the lines of this process.
    :raises ConfigurationError: if none has.
    :raises RecordsError: if the records do not answer.
    """
    found = collections.defaultdict[Lines, list[str]](list)
    for row in reporting(records.services(), records.condition_reports()):
        if row.settings.process and row.settings.process.common:
            found[row.settings.process.common].append(row.host)
    if found and (mine := own()) not in found:
        found[mine] = ['this process']
        raise exceptions.ConfigurationError(
            [f'the services run with other options: {differences(found)}'],
            hint='Write these lines of the services into the configuration '
            'file of this process',
        )
