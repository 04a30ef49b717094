"""Hints that name an extra: they can be carried out from a checkout."""

from __future__ import annotations

import importlib
import pathlib
import re
import sys
import tomllib
import unittest

from ironic_ownership.backends.tooz import drivers
from ironic_ownership.contracts import extras
from ironic_ownership.db import dialects

_CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
_PLACES = (
    *('ironic_ownership', 'nova_driver', 'plugins_contrib', 'doc/source'),
    'etc',
)
_FROM_AN_INDEX = re.compile(
    r'pip install \W?ironic-own|'
    r'(?<!/ironic-)ownership\[(api|health|etcd|mysql|journal|not)'
)


class TestExtras(unittest.TestCase):
    def test_hint_names_the_environment_of_this_process(self) -> None:
        self.assertEqual(
            'In a checkout of ironic-ownership, run '
            f"{sys.prefix}/bin/pip install '.[etcd]' or "
            f"{sys.prefix}/bin/pip install '.[redis]'",
            extras.hint('etcd', 'redis'),
        )

    def test_former_place_of_the_suites_names_the_kit(self) -> None:
        words = r'ironic-ownership-plugin-kit: .*pip install \./plugin_kit$'
        with self.assertRaisesRegex(ImportError, words):
            importlib.import_module('ironic_ownership.testing')

    def test_each_extra_that_is_named_exists(self) -> None:
        project = tomllib.loads((_CHECKOUT / 'pyproject.toml').read_text())
        named = set()
        for path in (_CHECKOUT / 'ironic_ownership').rglob('*.py'):
            for words in re.findall(r'extras\.hint\((.*)\)', path.read_text()):
                named |= set(re.findall(r'[\'"](\w+)[\'"]', words))
        self.assertLessEqual({'api', 'health', 'etcd'}, named)
        named |= {kind.name for kind in drivers._DRIVERS}
        named |= set(dialects._EXTRAS.values())
        known = set(project['project']['optional-dependencies'])
        self.assertEqual(set(), named - known)

    def test_no_hint_installs_from_an_index(self) -> None:
        for place in _PLACES:
            for path in (_CHECKOUT / place).rglob('*'):
                if path.suffix in ('.py', '.rst', '.tmpl', '.conf'):
                    found = _FROM_AN_INDEX.search(path.read_text())
                    self.assertIsNone(found, path)
