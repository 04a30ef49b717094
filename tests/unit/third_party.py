"""Packages of third parties, installed for the time of one test.

Made on a temporary directory of the import path, as pip leaves them: a
module and a dist-info directory with its entry points.
"""

from __future__ import annotations

import importlib
import itertools
import pathlib
import shutil
import sys
import tempfile
import unittest

import stevedore

from ironic_ownership import plugins

POLICY = """
from ironic_ownership.contracts import model, options, policy

class Policy(policy.FilterPolicy):
    contract_version = {version}
    options = (
        options.Option('colour', options.OptionType.STRING, 'A colour.'),
        options.Option(
            'size', options.OptionType.INTEGER, 'A size.', minimum=1
        ),
    )

    def __init__(self, settings):
        super().__init__(settings)
        if settings.get('colour') == 'ultraviolet':
            raise LookupError('no such colour')
"""

_NUMBERS = itertools.count()


class ThirdPartyCase(unittest.TestCase):
    """``install`` brings a plugin; it is gone after the test."""

    def setUp(self) -> None:
        super().setUp()
        self.forget()

    def install(
        self,
        name: str,
        source: str = POLICY.format(version=1),
        *,
        group: str = plugins.POLICIES,
        target: str = 'Policy',
        distribution: str | None = None,
        module: str | None = None,
    ) -> str:
        """Install a package with one plugin.

        :returns: name and version of its distribution.
        """
        number = next(_NUMBERS)
        distribution = distribution or f'third-party-{number}'
        module = module or f'third_party_{number}'
        # With each one: a test may clean up between two of them.
        self.addCleanup(self.forget)
        site = pathlib.Path(tempfile.mkdtemp())
        # A thread that no one waits for may still import from there.
        self.addCleanup(shutil.rmtree, site, ignore_errors=True)
        (site / f'{module}.py').write_text(source)
        info = site / f'{distribution.replace("-", "_")}-1.5.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(
            f'Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n'
        )
        (info / 'entry_points.txt').write_text(
            f'[{group}]\n{name} = {module}:{target}\n'
        )
        sys.path.insert(0, str(site))
        self.addCleanup(sys.path.remove, str(site))
        self.addCleanup(sys.modules.pop, module, None)
        self.forget()
        return f'{distribution} 1.5'

    def forget(self) -> None:
        """Let the next look-up see what is installed now."""
        importlib.invalidate_caches()
        stevedore.ExtensionManager.ENTRY_POINT_CACHE = {}
        plugins.entry_points.cache_clear()
        plugins._distributions.cache_clear()
        plugins.is_own.cache_clear()
        plugins._loaded.clear()
        plugins.node_fields.clear()
