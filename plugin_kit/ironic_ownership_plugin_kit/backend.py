"""Contract suites of membership backends, to subclass.

:class:`BackendContract` and :class:`OutageContract` are for all of them,
:class:`WatchContract` for those with the capability ``WATCH``. Usage::

    class Store(unittest.TestCase):
        def make_backend(self, member_ttl):
            return MyBackend({...}, member_ttl=member_ttl, call_timeout=5)

        def elapse(self, seconds): ...


    class TestMyBackend(Store, backend.BackendContract):
        pass

``backend_case.BackendCase`` has the other hooks, such as how to interrupt the
store and how long its members live.
"""

from __future__ import annotations

from ironic_ownership_plugin_kit import (
    backend_case,
    backend_members,
    backend_outages,
    backend_watch,
)

SETTINGS, OTHER = backend_case.SETTINGS, backend_case.OTHER


class BackendContract(
    backend_members.MemberContract, backend_members.ProcessContract
):
    """Membership: needs ``make_backend`` and ``elapse``."""


class OutageContract(backend_outages.OutageContract):
    """Outages and loss of data.

    Needs ``make_backend``, ``interrupt``, ``resume``, ``forget_everything``.
    """


class WatchContract(backend_watch.WatchContract):
    """Notification of changes.

    Needs ``make_backend``, ``elapse``, ``interrupt`` and ``resume``.
    """
