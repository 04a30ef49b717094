"""Read a runbook's page, and do what it says, word for word.

A page is a script: blocks of configuration, one table of nodes, and console
blocks with commands and what they print. Nothing of it is repeated in the
tests, so the two cannot drift apart.

Of the commands, ``ironic-ownership`` is the installed program; ``ssh HOST
systemctl ...`` starts and stops real host processes; ``openstack baremetal``
are requests to a real Ironic. Everything else is the shell's.
"""

from __future__ import annotations

import configparser
import csv
import dataclasses
import doctest
import pathlib
import re

PAGES = pathlib.Path(__file__).parents[3] / 'doc/source/run/runbooks'

_DIRECTIVE = re.compile(r'^\.\. (code-block|csv-table):: *(.*)$')
_OPTION = re.compile(r'^:([\w-]+): *(.*)$')
_OUTPUT = doctest.OutputChecker()


@dataclasses.dataclass(frozen=True)
class Command:
    """One command of a page.

    :param text: as a shell takes it.
    :param output: what the page shows of it; empty where it shows nothing.
    :param status: the exit status that it has to have.
    :param line: where in the page it is.
    """

    text: str
    output: str = ''
    status: int = 0
    line: int = 0

    @property
    def words(self) -> list[str]:
        """The words before any option's value is looked at."""
        return self.text.split()

    @property
    def writes(self) -> bool:
        """``True`` for a command of the project that changes something."""
        return self.words[0] == 'ironic-ownership' and '--yes' in self.words

    @property
    def stops(self) -> bool:
        """``True`` for a command that stops a service in any way."""
        return self.is_service_command('stop') or (
            'service set' in self.text
            and bool({'--disable', '--down'} & set(self.words))
        )

    def is_service_command(self, verb: str) -> bool:
        """Tell whether systemd is asked for something."""
        words = self.words
        return words[0] == 'ssh' and words[2:4] == ['systemctl', verb]

    def matches(self, said: str) -> bool:
        return not self.output or _OUTPUT.check_output(
            self.output, said, doctest.ELLIPSIS
        )


@dataclasses.dataclass(frozen=True)
class Configuration:
    """The configuration file of one machine.

    :param host: its name; several with commas, if they have the same file.
    """

    host: str
    path: str
    sections: dict[str, dict[str, str]]


@dataclasses.dataclass(frozen=True)
class Node:
    """One row of the table of nodes; ``None`` is a dash.

    :param before: its owner before the first command, if it exists then.
    :param after: its owner after the last.
    """

    name: str
    shard: str | None
    has_instance: bool
    before: str | None
    after: str | None
    conductor_group: str | None = None


@dataclasses.dataclass(frozen=True)
class World:
    """The nodes, and who owns them before and after."""

    nodes: tuple[Node, ...]


Step = Command | Configuration | World


def pages() -> list[pathlib.Path]:
    others = {'index.rst', *(page.name for page in nova_pages())}
    return sorted(p for p in PAGES.glob('*.rst') if p.name not in others)


def nova_pages() -> list[pathlib.Path]:
    """Return the runbooks of those who come from Nova."""
    return sorted(PAGES.glob('from-nova-*.rst'))


def read(page: pathlib.Path) -> list[Step]:
    """Return the steps of a page, in its order.

    :raises ValueError: if a block is not what a runbook can have.
    """
    steps: list[Step] = []
    read_lines = 0
    lines = page.read_text().splitlines()
    at = 0
    while at < len(lines):
        found = _DIRECTIVE.match(lines[at])
        at += 1
        if found is None:
            continue
        first, block = at, []
        while at < len(lines) and (
            not lines[at].strip() or lines[at].startswith('   ')
        ):
            block.append(lines[at][3:].rstrip())
            at += 1
        options, body, offset = _split(block)
        match found.groups():
            case ('csv-table', _):
                steps.append(_world(options['header'], body))
            case ('code-block', 'ini'):
                steps.append(_configuration(options['caption'], body))
            case ('code-block', 'console'):
                read_lines += sum(map(_is_prompt, body))
                steps.extend(_commands(body, first + offset + 1))
            case (kind, argument):
                raise ValueError(f'{page}:{first}: {kind} {argument}')
    if read_lines != sum(_is_prompt(line.lstrip()) for line in lines):
        raise ValueError(f'{page}: a command stands in no console block')
    return steps


def _is_prompt(line: str) -> bool:
    return line.startswith('$ ')


def _split(block: list[str]) -> tuple[dict[str, str], list[str], int]:
    options: dict[str, str] = {}
    at = 0
    while at < len(block) and (found := _OPTION.match(block[at])):
        options[found[1]] = found[2]
        at += 1
    while at < len(block) and not block[at]:
        at += 1
    body = block[at:]
    while body and not body[-1]:
        body.pop()
    return options, body, at


def _world(header: str, body: list[str]) -> World:
    names = [name.strip() for name in header.split(',')]
    rows = [
        dict(zip(names, row, strict=True))
        for row in csv.reader(body, skipinitialspace=True)
    ]
    return World(tuple(map(_node, rows)))


def _node(row: dict[str, str]) -> Node:
    def cell(*names: str) -> str | None:
        found = next((row[name] for name in names if name in row), '-')
        return None if found == '-' else found

    return Node(
        row['Node'].strip('`'),
        cell('Shard'),
        row['Instance'] == 'yes',
        cell('Service before', 'Service'),
        cell('Service after', 'Service'),
        cell('Conductor group'),
    )


def _configuration(caption: str, body: list[str]) -> Configuration:
    parser = configparser.ConfigParser(default_section='')
    parser.read_string('\n'.join(body))
    hosts, _, path = caption.partition(': ')
    return Configuration(
        hosts,
        path,
        {name: dict(parser[name]) for name in parser.sections()},
    )


def _commands(body: list[str], first: int) -> list[Command]:
    commands: list[Command] = []
    output: list[str] = []
    at = 0

    def finish() -> None:
        if commands and output:
            shown = ''.join(f'{line}\n' for line in output)
            commands[-1] = dataclasses.replace(commands[-1], output=shown)
        output.clear()

    while at < len(body):
        line, number = body[at], first + at
        at += 1
        if not line.startswith('$ '):
            output.append(line)
            continue
        finish()
        text = line[2:]
        while text.endswith('\\'):
            text = f'{text[:-1].rstrip()} {body[at].strip()}'
            at += 1
        if text == 'echo $?':
            status = int(body[at])
            at += 1
            commands[-1] = dataclasses.replace(commands[-1], status=status)
            continue
        commands.append(Command(text, line=number))
    finish()
    return commands
