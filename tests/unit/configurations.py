"""Configurations out of a text, as an operator writes it into a file."""

from __future__ import annotations

import contextlib
import os
import pathlib
import tempfile
import unittest
from collections.abc import Iterator
from unittest import mock

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


@contextlib.contextmanager
def cloud(line: str) -> Iterator[None]:
    """Let clouds.yaml have the cloud ``one``, with a line of options."""
    with tempfile.NamedTemporaryFile('w', suffix='.yaml') as file:
        file.write(
            'clouds:\n  one:\n    auth_type: none\n'
            f'    auth: {{endpoint: "http://h"}}\n    {line}\n'
        )
        file.flush()
        with mock.patch.dict(os.environ, OS_CLIENT_CONFIG_FILE=file.name):
            yield
