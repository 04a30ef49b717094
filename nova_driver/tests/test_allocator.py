from __future__ import annotations

import os
import subprocess
import sys
import unittest
from unittest import mock

from ironic_ownership_nova import allocator

_PROGRAM = """
import ctypes, threading, re
from ironic_ownership_nova import allocator
print(allocator.limit_arenas())
ready, done = threading.Barrier(9), threading.Event()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p

def work():
    # Small enough not to become a mapping of its own.
    libc.malloc(1000)
    ready.wait()
    done.wait()

for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
ready.wait()
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, 'stdout'))
libc.fflush(None)
done.set()
"""


class AllocatorTest(unittest.TestCase):
    def arenas(self, **variables: str) -> tuple[bool, int]:
        """Return the answer, and the number of arenas with eight threads."""
        text = subprocess.run(
            [sys.executable, '-c', _PROGRAM],
            env={**os.environ, **variables},
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        ).stdout
        return 'True' in text, text.count('<heap nr=')

    def test_threads_share_one_arena(self) -> None:
        self.assertEqual((True, 1), self.arenas())

    def test_operator_decides(self) -> None:
        limited, count = self.arenas(MALLOC_ARENA_MAX='4')
        self.assertFalse(limited)
        self.assertEqual(4, count)

    def test_other_libraries_are_left_alone(self) -> None:
        with mock.patch('ctypes.CDLL', side_effect=OSError):
            self.assertFalse(allocator.limit_arenas())
