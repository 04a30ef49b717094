"""The composition root: from configuration to objects that work together.

The only package that knows every implementation. Each object is built, and
its module imported, on first use, so that a command pays only for what it
uses.
"""

from __future__ import annotations

from ironic_ownership.wiring.container import Wiring
from ironic_ownership.wiring.member_policies import interpret
from ironic_ownership.wiring.opts import list_loaded_opts, list_opts

__all__ = ('Wiring', 'interpret', 'list_loaded_opts', 'list_opts')
