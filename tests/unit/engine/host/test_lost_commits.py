from __future__ import annotations

import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine.host.lost_commits import LostCommits


def rows(**revisions: int) -> dict[str, model.Service]:
    return {
        host: model.Service(host, revision=revision)
        for host, revision in revisions.items()
    }


class TestLostCommits(unittest.TestCase):
    def setUp(self) -> None:
        self.detector = LostCommits()
        self.assertEqual({}, self.detector.observe(rows(one=5, two=7)))

    def test_revisions_that_grow_or_stay_are_no_loss(self) -> None:
        self.assertEqual({}, self.detector.observe(rows(one=5, two=9)))

    def test_smaller_revision_is_a_loss_and_is_found_once(self) -> None:
        self.assertEqual({'two': 3}, self.detector.observe(rows(one=6, two=4)))
        self.assertEqual({}, self.detector.observe(rows(one=6, two=4)))

    def test_service_that_comes_or_goes_is_no_loss(self) -> None:
        self.assertEqual({}, self.detector.observe(rows(two=7, three=1)))
        self.assertEqual({}, self.detector.observe(rows(one=1, three=1)))
