"""Records behind a proxy that accepts everything and answers nothing."""

from __future__ import annotations

import unittest

from tests.functional.support import databases, frozen_case


class TestFrozenHAProxy(frozen_case.FrozenServer, unittest.TestCase):
    """The servers behind it work."""

    kind = databases.HAPROXY
