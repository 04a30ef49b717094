"""The files of this checkout, for tests that compare them."""

from __future__ import annotations

import ast
import pathlib
import tomllib
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / 'ironic_ownership'
PAGES = ROOT / 'doc' / 'source'
CONTRIBUTOR = PAGES / 'contributor'


def pyproject(directory: str = '.') -> dict[str, Any]:
    return tomllib.loads((ROOT / directory / 'pyproject.toml').read_text())


def imported(module: pathlib.Path) -> Iterator[str]:
    """Yield the names of what a module imports, at any depth."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f'{node.module}.{name.name}' for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
