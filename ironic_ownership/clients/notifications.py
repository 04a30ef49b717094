"""The message broker through oslo.messaging, which only this module imports.

The library's own notifier logs an error of the broker and goes on, so that
the event would be lost. Here the error is raised. The messages are the same:
version 2.0 of the envelope, around a versioned object as OpenStack's services
send them.
"""

from __future__ import annotations

import dataclasses
import datetime
import sys
import uuid
from collections.abc import Callable
from typing import Any

from oslo_config import cfg

from ironic_ownership.contracts import exceptions, extras, model

VERSION = '1.0'
"""Of the payload. The second number grows with each new field."""

_MISSING = (
    '[notifications] transport_url: notifications need the extra '
    f'"notifications" ({{}}). {extras.hint("notifications")}'
)
_REFUSED = '[notifications] transport_url: oslo.messaging refuses it ({})'
_PRIORITY = 'INFO'
_OBJECT = 'ironic_ownership_object'


def open_notifier(
    conf: cfg.ConfigOpts, host: str
) -> Callable[[model.Event], None] | None:
    """Return what sends an event; ``None`` if no broker is configured.

    It raises :class:`NotificationError` if the broker does not accept the
    event, and is for one thread.

    :param host: the service that sends.
    :raises ConfigurationError: if its options can't work.
    """
    group = conf.notifications
    if not group.transport_url:
        return None
    if not all(group.topics or ['']):
        raise exceptions.ConfigurationError(
            ['[notifications] topics: one is missing, or has no name']
        )
    try:
        messaging = _library()
    except ImportError as exc:
        raise exceptions.ConfigurationError([_MISSING.format(exc)]) from exc
    try:
        transport = messaging.get_notification_transport(
            conf, url=group.transport_url
        )
    except Exception as exc:  # many kinds; the URL may have a password
        raise exceptions.ConfigurationError(
            [_REFUSED.format(type(exc).__name__)]
        ) from exc
    targets = [
        messaging.Target(topic=f'{topic}.{_PRIORITY.lower()}')
        for topic in group.topics
    ]

    def send(event: model.Event) -> None:
        context, message = envelope(event, f'ironic-ownership-host:{host}')
        for target in targets:
            try:
                # What the library's drivers of notifications call.
                transport._send_notification(
                    target, context, message, version=2.0, retry=0
                )
            except Exception as exc:
                # Each driver of the library has errors of its own.
                raise exceptions.NotificationError(
                    f'the message broker does not accept notifications: '
                    f'{type(exc).__name__}: {exc}'
                ) from exc

    return send


def _library() -> Any:
    """Import oslo.messaging without eventlet, which it would start with."""
    if 'oslo_messaging' not in sys.modules and 'eventlet' not in sys.modules:
        # An import of it fails from now on: libraries use threads then.
        sys.modules['eventlet'] = None  # type: ignore[assignment]
        from oslo_service import backend

        backend.init_backend(backend.BackendType.THREADING)
    import oslo_messaging

    return oslo_messaging


def envelope(
    event: model.Event, publisher: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the context and the message for one event. Pure but for ids.

    :param publisher: program and service.
    """
    context = {'request_id': event.request_id} if event.request_id else {}
    at = datetime.datetime.fromtimestamp(event.at, datetime.UTC)
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    return context, {
        'message_id': str(uuid.uuid4()),
        'publisher_id': publisher,
        'event_type': f'ownership.{event.kind}',
        'priority': _PRIORITY,
        'payload': {
            f'{_OBJECT}.name': 'EventPayload',
            f'{_OBJECT}.namespace': 'ironic_ownership',
            f'{_OBJECT}.version': VERSION,
            f'{_OBJECT}.data': {
                **dataclasses.asdict(event),
                'at': at.isoformat().replace('+00:00', 'Z'),
            },
        },
        'timestamp': str(now),
    }
