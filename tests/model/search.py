"""Searches of other deployments, by hand: ``python -m tests.model.search``."""

from __future__ import annotations

import argparse
import resource
import sys

from tests.model import mutants, tlc

_PAGE = (tlc.HERE / 'Ownership.tla').read_text()
_CONFIG = (tlc.HERE / 'Ownership.cfg').read_text()


def main() -> int:
    """Search, and print the number of states and the seconds of processor."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ('hosts', 'doubled', 'nodes', 'changing', 'late'):
        parser.add_argument(f'--{name}', nargs='*')
    for name in ('operators', 'epochs', 'sent', 'ttl', 'lease', 'permission'):
        parser.add_argument(f'--{name}')
    parser.add_argument('--mutants', action='store_true')
    options = vars(parser.parse_args())
    with_mutants = options.pop('mutants')
    config = mutants.configured(
        _CONFIG,
        **{
            name: f'{{{", ".join(value)}}}'
            if isinstance(value, list)
            else value
            for name, value in options.items()
            if value is not None
        },
    )
    if not with_mutants:
        outcome = tlc.check('Ownership', config)
        _print('the page', outcome)
        return 0 if outcome.is_complete else 1
    survivors = 0
    for mutant in mutants.MUTANTS:
        outcome = mutant.search(_PAGE, config)
        _print(mutant.name, outcome)
        survivors += mutant.law not in outcome.violated
    return 1 if survivors else 0


def _print(name: str, outcome: tlc.Outcome) -> None:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(  # noqa: T201
        f'{name}: {outcome.states} states, depth {outcome.depth}, '
        f'{used.ru_utime:.0f} s so far, '
        f'{", ".join(outcome.violated) or "no law"} violated',
        flush=True,
    )
    if not outcome.is_complete and not outcome.violated:
        print(outcome.error)  # noqa: T201


if __name__ == '__main__':
    sys.exit(main())
