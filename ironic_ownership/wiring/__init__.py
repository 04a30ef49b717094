"""The composition root: from configuration to objects that work together.

The one place that knows every implementation. Everything is made when it is
first asked for, and imported then, so that a command pays only for what it
uses.
"""

from __future__ import annotations

from ironic_ownership.wiring.container import Wiring
from ironic_ownership.wiring.member_policies import interpret
from ironic_ownership.wiring.opts import list_opts

__all__ = ('Wiring', 'interpret', 'list_opts')
