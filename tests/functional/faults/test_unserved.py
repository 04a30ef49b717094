"""Observer of the time for which a free node has no service."""

from __future__ import annotations

import unittest

from tests.functional.faults.support import observer

LOOKS = {
    'another member owns it': (
        5,
        (1, 'host1', ['host1', 'host2']),
        (2, 'host1', ['host2']),
        (4, None, ['host2']),
        (7, 'host2', ['host2']),
        (9, 'host2', ['host2']),
    ),
    'it has not ended': (3, (1, None, ['host1']), (4, None, ['host1'])),
    'no answer until the end of rights': (
        0,
        (1, 'host1', ['host1']),
        (10, 'host1', ['host1']),
    ),
    'no answer after the end of rights': (
        14,
        (10, 'host1', ['host1']),
        (34, 'host1', ['host1']),
    ),
    'an instance between': (
        0,
        (1, None, ['host1']),
        (5, 'deployed', ['host1']),
        (8, None, ['host1']),
    ),
}


class TestUnserved(unittest.TestCase):
    def test_longest_time_from_several_looks_at_one_node(self) -> None:
        for title, (longest, *looks) in LOOKS.items():
            with self.subTest(title):
                # Services act for ten seconds blindly.
                unserved = observer.Unserved(lambda: 10)
                for at, owner, members in looks:
                    free = {} if owner == 'deployed' else {'node': owner}
                    unserved.see(at, free, members)
                self.assertEqual(longest, unserved.longest)
