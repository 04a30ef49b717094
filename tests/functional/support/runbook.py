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
import textwrap

PAGES = pathlib.Path(__file__).parents[3] / 'doc/source/run/runbooks'

_BLOCK = re.compile(
    r'^\.\. (code-block|csv-table):: *(.*)\n((?:(?:   .*)?\n)*)', re.MULTILINE
)
_OPTION = re.compile(r'^   :([\w-]+): *(.*)\n', re.MULTILINE)
_PROMPT = re.compile(r'^ *\$ ', re.MULTILINE)
_CONTINUED = re.compile(r' *\\\n *')
_OUTPUT = doctest.OutputChecker()


@dataclasses.dataclass(frozen=True)
class Command:
    """One command of a page.

    :param text: as a shell takes it.
    :param output: what the page shows of it; empty where it shows nothing.
    :param status: the exit status that it has to have.
    :param line: where in the page its block is.
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
    text = page.read_text()
    prompts = 0
    for found in _BLOCK.finditer(text):
        kind, argument, block = found.groups()
        options = dict(_OPTION.findall(block))
        body = textwrap.dedent(_OPTION.sub('', block)).strip('\n')
        line = text.count('\n', 0, found.start()) + 1
        match kind, argument:
            case 'csv-table', _:
                steps.append(_world(options['header'], body))
            case 'code-block', 'ini':
                steps.append(_configuration(options['caption'], body))
            case 'code-block', 'console':
                prompts += len(_PROMPT.findall(body))
                steps.extend(_commands(body, line))
            case _:
                raise ValueError(f'{page}:{line}: {kind} {argument}')
    if prompts != len(_PROMPT.findall(text)):
        raise ValueError(f'{page}: a command stands in no console block')
    return steps


def _world(header: str, body: str) -> World:
    names = [name.strip() for name in header.split(',')]
    rows = [
        dict(zip(names, row, strict=True))
        for row in csv.reader(body.splitlines(), skipinitialspace=True)
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


def _configuration(caption: str, body: str) -> Configuration:
    parser = configparser.ConfigParser(default_section='')
    parser.read_string(body)
    hosts, _, path = caption.partition(': ')
    sections = {name: dict(parser[name]) for name in parser.sections()}
    return Configuration(hosts, path, sections)


def _commands(body: str, line: int) -> list[Command]:
    commands: list[Command] = []
    for part in _PROMPT.split(body)[1:]:
        text, _, output = _CONTINUED.sub(' ', part).partition('\n')
        if text == 'echo $?':
            commands[-1] = dataclasses.replace(
                commands[-1], status=int(output)
            )
        else:
            commands.append(Command(text, output.rstrip('\n'), line=line))
    return [
        dataclasses.replace(one, output=one.output and f'{one.output}\n')
        for one in commands
    ]
