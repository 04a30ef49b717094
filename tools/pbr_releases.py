"""Build backend: pbr's, with a version from RELEASES.

pbr counts from a tag, which clones may lack, and refuses an archive without
git. It sets the version only for a backend whose name begins with its own.
"""

import os
import pathlib
import subprocess

from pbr.build import *  # noqa: F403 - the hooks


def version(root: pathlib.Path) -> str | None:
    """Return the version of a source tree, or ``None`` if pbr knows it."""
    if (root / 'PKG-INFO').exists():
        return None
    *_, release, commit = (root / 'RELEASES').read_text().split()
    if not (root / '.git').exists():
        return f'{_after(release)}.dev0'
    tag = _git(root, 'describe', '--tags', '--exact-match')
    if tag:
        return tag
    count = _git(root, 'rev-list', '--count', f'{commit}..HEAD') or '0'
    if _git(root, 'rev-parse', 'HEAD') == commit:
        return release
    return f'{_after(release)}.dev{count}'


def _after(release: str) -> str:
    major, minor, _ = release.split('.')
    return f'{major}.{int(minor) + 1}.0'


def _git(root: pathlib.Path, *words: str) -> str:
    """Return what git prints; nothing if it fails or is not there."""
    try:
        done = subprocess.run(
            ['git', *words],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ''
    return '' if done.returncode else done.stdout.strip()


_version = version(pathlib.Path(__file__).resolve().parent.parent)
if _version:
    os.environ.setdefault('PBR_VERSION', _version)
