"""A host process that asks its guard when a file tells it to.

To be run instead of the host's program. Each line that is added to the file
named by ``QUESTIONS`` is the uuid of a node; each answer is a line behind it
in the file with the suffix ``.answers``.
"""

from __future__ import annotations

import os
import pathlib
import sys
import threading
import time
from typing import Any

from ironic_ownership.cmd import host, host_main
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host.process import Host

VARIABLE = 'QUESTIONS'
PERMITTED = 'permitted'


def answers_of(questions: pathlib.Path) -> list[str]:
    """Return the answers so far: permitted, or the name of the error."""
    answers = questions.with_suffix('.answers')
    return answers.read_text().splitlines() if answers.exists() else []


def _answer(served: Host, uuid: str) -> str:
    try:
        permission = served.guard.check(uuid)
    except exceptions.OwnershipError as exc:
        return f'{type(exc).__name__}: {exc}'
    return PERMITTED if permission.is_valid else 'not valid'


def _serve_questions(served: Host) -> None:
    questions = pathlib.Path(os.environ[VARIABLE])
    seen = 0
    with questions.with_suffix('.answers').open('a', buffering=1) as answers:
        while True:
            asked = questions.read_text().split() if questions.exists() else []
            for uuid in asked[seen:]:
                answers.write(f'{_answer(served, uuid)}\n')
            seen = len(asked)
            time.sleep(0.02)


def _main() -> int:
    serve = host_main._serve

    def answering(served: Host, *others: Any) -> None:
        threading.Thread(
            target=_serve_questions, args=(served,), daemon=True
        ).start()
        serve(served, *others)

    host_main._serve = answering
    return host.main()


if __name__ == '__main__':
    sys.exit(_main())
