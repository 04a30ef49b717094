"""Log lines of this package without the text of an error twice.

oslo.log appends the class and the text of an exception that is being handled
to every warning. The messages of this package have the text already.
"""

from __future__ import annotations

import logging

from oslo_config import cfg
from oslo_log import formatters, log

_PACKAGE = 'ironic_ownership'


class _Once(logging.Formatter):
    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        text = self._inner.format(record)
        if record.exc_info or record.name.partition('.')[0] != _PACKAGE:
            return text
        summary = getattr(record, 'error_summary', '')
        return text.removesuffix(f': {summary}') if summary else text


def setup(conf: cfg.ConfigOpts, prog: str) -> None:
    """Set up the log as configured.

    :raises OSError: if its file can't be written.
    :raises log.LogConfigError: if its configuration is wrong.
    """
    log.setup(conf, prog)
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, formatters.ContextFormatter):
            handler.setFormatter(_Once(handler.formatter))
