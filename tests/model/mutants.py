"""Faults of the page, one by one: each breaks the law that is named.

Each replaces a text that occurs once. They are what could be missing in the
code as well, in the function that the comment above the action names.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from tests.model import tlc


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One fault.

    :param law: what has to be violated.
    :param constants: of the search that finds it, if it needs others.
    :param quick: whether the tests search for it.
    """

    name: str
    before: str
    after: str
    law: str
    constants: Mapping[str, str] = dataclasses.field(default_factory=dict)
    quick: bool = True

    def search(self, page: str, config: str) -> tlc.Outcome:
        """Search the page with this fault, until a law is violated."""
        if page.count(self.before) != 1:
            raise ValueError(f'{self.name}: the page has changed')
        broken = page.replace(self.before, self.after)
        config = configured(config, **self.constants)
        return tlc.check('Ownership', config, {'Ownership': broken})


def configured(config: str, **constants: str) -> str:
    """Return a configuration with other values of some constants."""
    for name, value in constants.items():
        config = re.sub(rf'(?im)^( *{name} =).*', rf'\1 {value}', config)
    return config


_OPERATORS = {'operators': 'TRUE'}

MUTANTS = (
    Mutant(
        'a registration does not raise the epoch',
        'e == s.epoch + 1\n',
        'e == IF s.epoch = 0 THEN 1 ELSE s.epoch\n',
        'OneEpoch',
    ),
    Mutant(
        'the lease does not end',
        'Left(p) == IF member[p] < Ttl - Lease THEN 0 ELSE',
        'Left(p) == IF TRUE THEN Lease ELSE',
        'OneActs',
    ),
    Mutant(
        'a claim of a writer that was fenced is accepted',
        'IF IsCurrent(Host(w.by), w.epoch) /\\ Fits(w) /\\ MayTake(w)',
        'IF Fits(w) /\\ MayTake(w)',
        'LateWritesAreRefused',
    ),
    Mutant(
        'a release of a writer that was fenced is accepted',
        'IF IsCurrent(Host(w.by), w.epoch) /\\ Fits(w)\n',
        'IF Fits(w)\n',
        'LateWritesAreRefused',
    ),
    Mutant(
        'a process that was fenced retires its successor',
        'IF service[h].epoch # w.epoch THEN',
        'IF FALSE THEN',
        'LateWritesAreRefused',
    ),
    Mutant(
        'a take-over fences no service',
        '![w.from].fenced = TRUE]\n',
        '![w.from].fenced = FALSE]\n',
        'OnlyFromFenced',
    ),
    Mutant(
        'an owner that registered since it was seen is taken from',
        '\\/ service[w.from].epoch = w.seen\n',
        '\\/ TRUE\n',
        'OneActs',
        quick=False,
    ),
    Mutant(
        'a standby replaces a process that registered since it was seen',
        '/\\ (s.fenced \\/ s.epoch = w.seen)',
        '',
        'OneActs',
        {'epochs': '3'},
        quick=False,
    ),
    Mutant(
        'a standby replaces a live process',
        '\\/ s.active \\notin w.to /\\ (s.fenced \\/ s.epoch = w.seen)',
        '\\/ TRUE',
        'OneActs',
        quick=False,
    ),
    Mutant(
        'a member that has expired goes on',
        'SUBSET {p \\in Processes : member[p] > 0}',
        'SUBSET Processes',
        'OneActs',
        quick=False,
    ),
    Mutant(
        'an answer from before the membership was lost counts',
        '~(x.by = p /\\ x.kind = "answer")',
        'TRUE',
        'OneActs',
        {'sent': '2'},
        quick=False,
    ),
    Mutant(
        'Ironic admits a request under an epoch that has ended',
        '    /\\ IsCurrent(Host(p), epoch[p])\n'
        '    /\\ owner[Watched] = Host(p)\n\n---',
        '    /\\ epoch[p] # 0 /\\ ~service[Host(p)].fenced\n'
        '    /\\ owner[Watched] = Host(p)\n\n---',
        'OneAdmitted',
    ),
    Mutant(
        'Ironic admits a request of a service that does not own the node',
        '    /\\ owner[Watched] = Host(p)\n\n---',
        '\n---',
        'OneAdmitted',
        quick=False,
    ),
    Mutant(
        'a permission does not ask for the owner',
        '    /\\ owner[Watched] = Host(p)\n    /\\ permit',
        '    /\\ permit',
        'OneActs',
    ),
    Mutant(
        'a permission does not ask for the epoch',
        '    /\\ MayAct(p)\n    /\\ IsCurrent(Host(p), epoch[p])\n',
        '    /\\ MayAct(p)\n',
        'OneActs',
        _OPERATORS,
        quick=False,
    ),
    Mutant(
        'a released node is claimed before its permissions end',
        ' /\\ (w.from = None => held[w.node] = 0)',
        '',
        'OneActs',
        _OPERATORS,
        quick=False,
    ),
    Mutant(
        'nodes of a live service are taken',
        'owner[m] # Host(p) /\\ Gone(owner[m])}}',
        'owner[m] # Host(p)}}',
        'OneActs',
    ),
    Mutant(
        'a process that stops acts until its place is given up',
        """None, None, 0, None))
    /\\ Dropped(p)
    /\\ UNCHANGED <<records, member, grace>>""",
        """None, None, 0, None))
    /\\ UNCHANGED <<records, process, grace>>""",
        'OneActs',
        quick=False,
    ),
)
