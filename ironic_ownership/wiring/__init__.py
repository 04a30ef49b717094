"""The composition root: from configuration to objects that work together.

The one place that knows every implementation. Everything is made when it is
first asked for, and imported then, so that a command pays only for what it
uses.
"""

from __future__ import annotations

from ironic_ownership.wiring.interpretation import interpret
from ironic_ownership.wiring.option_list import list_opts
from ironic_ownership.wiring.process import Wiring
from ironic_ownership.wiring.tuning import tuning_of

__all__ = ('Wiring', 'interpret', 'list_opts', 'tuning_of')
