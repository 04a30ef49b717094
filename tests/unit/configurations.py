"""Configurations out of a text, as an operator writes it into a file."""

from __future__ import annotations

import os
import pathlib
import tempfile
import unittest

from oslo_config import cfg

from ironic_ownership.conf.configuration import new


class ConfiguredCase(unittest.TestCase):
    """``configure`` reads a configuration file of that text."""

    def configure(self, text: str) -> cfg.ConfigOpts:
        handle, name = tempfile.mkstemp(suffix='.conf')
        os.close(handle)
        path = pathlib.Path(name)
        self.addCleanup(path.unlink)
        path.write_text(text + '\n')
        return new(['--config-file', name], 'test')
