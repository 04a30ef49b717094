"""Observer of the time for which a free node has no service."""

from __future__ import annotations

import unittest

from tests.functional.faults.support import observer


class TestUnserved(unittest.TestCase):
    """Looks at one free node; services act for ten seconds blindly."""

    def setUp(self) -> None:
        super().setUp()
        self.unserved = observer.Unserved(lambda: 10)

    def see(self, at: float, owner: str | None, *members: str) -> None:
        self.unserved.see(at, {'node': owner}, members)

    def test_time_until_another_member_owns_it(self) -> None:
        self.see(1, 'host1', 'host1', 'host2')
        self.see(2, 'host1', 'host2')
        self.see(4, None, 'host2')
        self.see(7, 'host2', 'host2')
        self.see(9, 'host2', 'host2')
        self.assertEqual(5, self.unserved.longest)

    def test_time_that_has_not_ended_counts(self) -> None:
        self.see(1, None, 'host1')
        self.see(4, None, 'host1')
        self.assertEqual(3, self.unserved.longest)

    def test_time_without_an_answer_counts_after_the_end_of_rights(
        self,
    ) -> None:
        self.see(1, 'host1', 'host1')
        self.see(10, 'host1', 'host1')
        self.assertEqual(0, self.unserved.longest)
        self.see(34, 'host1', 'host1')
        self.assertEqual(14, self.unserved.longest)

    def test_node_with_an_instance_is_not_counted(self) -> None:
        self.see(1, None, 'host1')
        self.unserved.see(5, {}, ['host1'])
        self.see(8, None, 'host1')
        self.assertEqual(0, self.unserved.longest)
