"""Graphs of explanations: what is in them, and texts of others as texts."""

from __future__ import annotations

import dataclasses
import re

from ironic_ownership.cli import compute_node, errors
from tests.unit.cli import test_move
from tests.unit.engine import world

_STRING = r'"(?:[^"\\]|\\.)*"'
_LINE = re.compile(
    rf'digraph {_STRING} {{|}}|  rankdir=LR; node \[shape=box\];'
    rf'|  \w+ \[label={_STRING}(, style=\w+)?\];'
    r'|(  |; )\w+ -> \w+( \[style=dashed\])?;( record -> decision;)?'
)


class GraphTest(test_move.CommandCase):
    """``old`` owns the nodes and is not alive, ``new`` is."""

    def graph(self, *words: str) -> str:
        kind, uuid = compute_node.ExplainComputeNode, world.uuid(1)
        return self.printed(kind, uuid, '--graph', *words)[1]

    def test_chain_leads_from_the_inputs_to_the_decision(self) -> None:
        lines = self.graph().splitlines()
        for line in lines:
            self.assertRegex(line, rf'^(?:{_LINE.pattern})$')
        self.assertIn('  inputs -> member0;', lines)
        self.assertIn('  member0 -> want;', lines)
        self.assertIn('  inputs -> member1 [style=dashed];', lines)
        text = '\n'.join(lines)
        self.assertNotIn('member1 -> want', text)
        self.assertIn('label="Decision: old\\l', text)
        self.assertIn('label="On record\\lold, not alive\\l', text)
        self.assertIn('label="Policies want\\lnew\\l', text)

    def test_text_of_a_node_is_text(self) -> None:
        node = self.ironic.nodes[world.uuid(1)]
        name = 'a"]; evil [label="\\\x1b'
        self.ironic.put(dataclasses.replace(node, name=name, shard=name))
        for line in self.graph().splitlines():
            self.assertRegex(line, rf'^(?:{_LINE.pattern})$')

    def test_other_format_is_refused(self) -> None:
        for words in (('-f', 'json'), ('-c', 'uuid')):
            with self.assertRaises(errors.UsageError):
                self.graph(*words)


class RemoteGraphTest(GraphTest):
    """The same over HTTP."""

    remote = True
