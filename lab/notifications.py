"""A consumer of notifications, as OpenStack's services have it.

It is oslo.messaging's listener in an environment of its own: that library
brings eventlet, which our environment does not have.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

from lab import process, venvs

_REQUIREMENTS = ('oslo.messaging==18.3.1', 'oslo.service[threading]==4.8.0')

_LISTENER = """\
import json
import sys
import threading

from oslo_service import backend

backend.init_backend(backend.BackendType.THREADING)
import oslo_messaging
from oslo_config import cfg

LOCK = threading.Lock()


class Endpoint:
    def info(self, context, publisher_id, event_type, payload, metadata):
        message = {
            'context': context,
            'publisher_id': publisher_id,
            'event_type': event_type,
            'payload': payload,
        }
        # Messages come in several threads, whose lines must not mix.
        with LOCK:
            print(json.dumps(message), flush=True)


conf = cfg.ConfigOpts()
conf([], project='listener')
listener = oslo_messaging.get_notification_listener(
    oslo_messaging.get_notification_transport(conf, url=sys.argv[1]),
    [oslo_messaging.Target(topic=sys.argv[2])],
    [Endpoint()],
    executor='threading',
)
listener.start()
listener.wait()
"""


def environment() -> pathlib.Path:
    """Return a virtual environment with oslo.messaging."""
    return venvs.ensure('notifications', _REQUIREMENTS)


def libraries() -> pathlib.Path:
    """Return the directory of its packages."""
    version = f'python{sys.version_info.major}.{sys.version_info.minor}'
    return environment() / 'lib' / version / 'site-packages'


class Listener:
    """One consumer of a topic.

    :param url: of the broker.
    """

    def __init__(self, directory: pathlib.Path, url: str, topic: str) -> None:
        python = str(environment() / 'bin' / 'python')
        self.process = process.Process(
            [python, '-c', _LISTENER, url, topic], directory / 'listener.log'
        )

    @property
    def received(self) -> list[dict[str, Any]]:
        """The messages so far, in order of their arrival."""
        if not self.process.log.exists():
            return []
        lines = self.process.log.read_text().splitlines()
        # The last line may be unfinished; the others may be a log.
        return [
            json.loads(line)
            for line in lines
            if line.startswith('{') and line.endswith('}')
        ]
