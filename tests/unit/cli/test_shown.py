"""Tables of explanations, previews and problems."""

from __future__ import annotations

import unittest

from ironic_ownership.api.resources import rings as answers
from ironic_ownership.api.resources.check import COLUMNS
from ironic_ownership.cli import check, compute_node, ring
from ironic_ownership.contracts import model
from ironic_ownership.engine.checks.problem import Kind, Problem, Severity
from ironic_ownership.engine.decision import what_if
from ironic_ownership.observe import columns


class ExplanationTest(unittest.TestCase):
    def test_empty_group_is_seen(self) -> None:
        self.assertEqual(
            "shard: -\ngroup: ''\nalive: yes",
            compute_node.readable({'shard': None, 'group': '', 'alive': True}),
        )

    def test_advice_is_a_list_of_wrapped_lines(self) -> None:
        shown = str(compute_node.readable(['word ' * 30, 'Nothing to do']))
        self.assertEqual(3, len(shown.splitlines()))
        self.assertTrue(shown.startswith('* word'))
        self.assertIn('\n* Nothing to do', shown)
        self.assertLess(max(map(len, shown.splitlines())), 80)

    def test_member_is_a_line_and_one_for_each_policy(self) -> None:
        shown = compute_node.readable(
            [
                {
                    'host': 'h1',
                    'why': 'is disabled',
                    'policies': [
                        {'policy': 'all', 'options': {}, 'says': 'admits it'},
                        {'policy': 'p', 'options': {'o': 1}, 'says': 'x'},
                        {
                            'policy': 'q',
                            'options': {},
                            'member_values': {'zone': 'a'},
                            'says': 'y',
                        },
                    ],
                }
            ]
        )
        self.assertEqual(
            'h1: is disabled\n  - all: admits it\n  - p (o=1): x\n'
            '  - q (for itself zone=a): y',
            shown,
        )


class ProblemTest(unittest.TestCase):
    def row(self) -> dict:
        found = Problem(
            'unowned',
            Severity.ERROR,
            'what',
            Kind.NODE,
            tuple('abcde'),
            tuple('vwxyz'),
        )
        return dict(
            zip(
                columns.keys(COLUMNS), columns.row(COLUMNS, found), strict=True
            )
        )

    def test_first_few_stand_for_all_and_the_count_tells(self) -> None:
        long = self.row()
        short = check._shortened(long)
        self.assertEqual(
            (5, ['a', 'b', 'c']), (short['count'], short['subjects'])
        )
        self.assertEqual(list('vwx'), short['services'])
        self.assertEqual(
            (list('abcde'), list('vwxyz')),
            (long['subjects'], long['services']),
        )
        self.assertEqual(list(short), list(long))
        self.assertIs(str, type(short['severity']))

    def test_skipped_checks_are_counted_in_one_line(self) -> None:
        row = {
            **self.row(),
            'kind': 'part',
            'hint': '3 checks were skipped: a',
        }
        self.assertEqual(
            '3 checks were skipped (--long lists them)',
            check._without_list(row)['hint'],
        )
        for other in (self.row(), {**row, 'kind': 'node'}):
            self.assertIs(other, check._without_list(other))


class PreviewTest(unittest.TestCase):
    def test_sums_are_told_and_nodes_named_if_asked_for(self) -> None:
        left, moved = (
            what_if.NodeChange(kind, model.Node(uuid), 'h1', after, deployed)
            for kind, uuid, after, deployed in (
                (what_if.Kind.UNSERVED, 'b', 'h1', False),
                (what_if.Kind.MOVES, 'a', None, True),
            )
        )
        outcome = what_if.Difference(4, [left, moved])
        self.assertEqual(
            {
                'nodes': 4,
                'moves': 1,
                'share': 0.25,
                'instances': 1,
                'stranded': 0,
                'unserved': 1,
                'flows': [
                    {
                        'from_service': 'h1',
                        'to_service': None,
                        'nodes': 1,
                        'instances': 1,
                        'share': 0.25,
                    }
                ],
            },
            columns.cells(answers.DIFFERENCE, outcome),
        )
        named = answers.changes(outcome)
        self.assertEqual(
            [('a', 'moves'), ('b', 'unserved')],
            [(change['uuid'], change['change']) for change in named],
        )
        summary = ring._summary(columns.cells(answers.DIFFERENCE, outcome))
        self.assertIn('1 of 4 nodes would move (25.0%), 1 of them', summary)
        self.assertIn('1 node without an instance would stay', summary)
        self.assertNotIn('stranded', summary)
