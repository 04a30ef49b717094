from __future__ import annotations

import ctypes
import gc
import pathlib
import platform
import unittest
import weakref
from unittest import mock

from ironic_ownership.wiring import heap

BLOCKS, SIZE = 2000, 8192
"""16 MB in pieces that malloc takes from the heap, and not from a mapping."""


class Node:
    """An object that a collection walks, and that may hold itself."""

    itself: Node | None = None


def resident() -> int:
    """Return the bytes of memory that this process has."""
    pages = pathlib.Path('/proc/self/statm').read_text().split()[1]
    return int(pages) * 4096


@unittest.skipUnless(platform.libc_ver()[0] == 'glibc', 'glibc returns it')
class TestHeap(unittest.TestCase):
    def test_memory_between_what_is_kept_is_returned(self) -> None:
        blocks = [bytearray(SIZE) for _ in range(BLOCKS)]
        kept = blocks[::8]
        del blocks
        before = resident()
        self.assertTrue(heap.trim())
        self.assertLess(BLOCKS * SIZE / 2, before - resident())
        self.assertEqual(BLOCKS / 8, len(kept))

    def test_objects_that_hold_each_other_are_returned(self) -> None:
        one: list[object] = [bytearray(SIZE) for _ in range(BLOCKS)]
        one.append(one)
        before = resident()
        del one
        heap.trim()
        self.assertLess(BLOCKS * SIZE / 2, before - resident())


class TestKeep(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(gc.unfreeze)

    def test_collections_walk_only_what_is_newer(self) -> None:
        old, free = Node(), Node()
        free.itself = free
        seen = weakref.ref(free)
        del free
        heap.keep()
        new = Node()
        walked = {id(one) for one in gc.get_objects()}
        self.assertNotIn(id(old), walked)
        self.assertIn(id(new), walked)
        self.assertIsNone(seen())

    def test_without_glibc_nothing_happens(self) -> None:
        for found in ({'return_value': object()}, {'side_effect': OSError}):
            with mock.patch.object(ctypes, 'CDLL', **found):
                self.assertFalse(heap.trim())
                heap.keep()
