"""End of the process after the end of its host."""

from __future__ import annotations

import unittest
from unittest import mock

from ironic_ownership.cmd import host_main
from tests.unit.engine.host import healths


class BrokenHost:
    health = mock.Mock(read=healths.health)

    def run(self) -> None:
        raise ZeroDivisionError


class ServeTest(unittest.TestCase):
    def test_unexpected_error_is_no_clean_end(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            host_main._serve(BrokenHost(), lambda: None)
