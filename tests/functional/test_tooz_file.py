"""The ``tooz`` backend on files: no server, and time that really passes."""

from __future__ import annotations

import time
import unittest

from ironic_ownership.backends.tooz.backend import ToozBackend
from ironic_ownership.testing import backend as suites
from tests.functional.support import coordination, databases


class TestFiles(suites.BackendContract, unittest.TestCase):
    ttl = coordination.OnStore.ttl

    def setUp(self) -> None:
        super().setUp()
        self.url = f'file://{databases.temporary_directory("members")}'

    def make_backend(self, member_ttl: float) -> ToozBackend:
        return coordination.build(self.url, 'group', member_ttl)

    def elapse(self, seconds: float) -> None:
        time.sleep(seconds)
