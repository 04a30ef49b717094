"""A real Keystone for the tests of one process, with a user for each role."""

from __future__ import annotations

import functools

from lab import keystone
from tests.functional.support import databases


@functools.cache
def shared() -> keystone.Keystone:
    """Return the Keystone of this test process, which ends with it."""
    server = databases.started(keystone.Keystone, 'keystone')
    server.add('mary', 'member')
    server.add('paul', 'reader')
    server.add('rita', 'reader', system=True)
    server.add('sven', 'service')
    server.add('olga', 'service', project='other')
    server.add('anna', 'admin', project='other')
    server.add('nemo', None)
    return server
