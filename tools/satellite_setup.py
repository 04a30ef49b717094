"""setup.py of each package beside the core: it has the core's version."""

import email
import os
import pathlib
import runpy

import setuptools

_core = pathlib.Path.cwd().parent
for _known in pathlib.Path('PKG-INFO'), _core / 'PKG-INFO':
    if _known.exists():  # a source archive, of this package or of the core
        _version = email.message_from_string(_known.read_text())['Version']
        break
else:
    runpy.run_path(str(_core / 'tools' / 'pbr_releases.py'))
    _version = os.environ['PBR_VERSION']

setuptools.setup(version=_version)
