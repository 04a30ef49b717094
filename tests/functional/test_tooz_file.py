"""The ``tooz`` backend on files: no server, and time that really passes."""

from __future__ import annotations

import time
import unittest

from ironic_ownership.backends.tooz import backend as backend_
from ironic_ownership.testing import backend
from tests.functional import coordination, databases


class TestFiles(backend.BackendContract, unittest.TestCase):
    ttl = 3.0

    def setUp(self) -> None:
        super().setUp()
        self.url = f'file://{databases.temporary_directory("members")}'

    def make_backend(self, member_ttl: float) -> backend_.ToozBackend:
        return coordination.build(self.url, 'group', member_ttl)

    def elapse(self, seconds: float) -> None:
        time.sleep(seconds)
