"""Docstrings that ``pydoc`` shows to the author of a plugin."""

from __future__ import annotations

import enum
import inspect
import unittest

from ironic_ownership import contracts
from ironic_ownership_plugin_kit import policy


class TestDocstrings(unittest.TestCase):
    def test_class_explains_its_constants_and_attributes(self) -> None:
        classes = (
            contracts.Capability,
            contracts.OptionType,
            contracts.FilterPolicy,
            contracts.AssignerPolicy,
            contracts.MembershipBackend,
            policy.AssignerPolicyContract,
        )
        for target in classes:
            shown = '\n'.join(
                inspect.getdoc(base) or ''
                for base in target.__mro__
                if base.__module__.startswith('ironic_ownership')
            )
            for name in self.attributes(target):
                self.assertRegex(
                    shown, rf'(:cvar {name}:|``{name}``)', target.__name__
                )

    def attributes(self, target: type) -> set[str]:
        """Return the names of the public attributes that are declared."""
        if issubclass(target, enum.Enum):
            return {*target.__members__}
        return {
            name
            for base in target.__mro__
            if base.__module__.startswith('ironic_ownership')
            for name in base.__annotations__
            if not name.startswith('_')
        }
