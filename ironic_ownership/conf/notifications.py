"""Options of the notifications that a host process sends."""

from __future__ import annotations

from oslo_config import cfg

GROUP = 'notifications'

OPTS = (
    cfg.StrOpt(
        'transport_url',
        secret=True,
        sample_default='rabbit://user:password@broker.example:5672/',
        help='URL of the message broker, as oslo.messaging reads it. Every '
        'event of the history is sent there as a notification. Unset: none '
        'is sent. Needs the extra "notifications"; further options are those '
        'of oslo.messaging, such as [oslo_messaging_rabbit] ssl.',
    ),
    cfg.ListOpt(
        'topics',
        default=['ironic_ownership_versioned_notifications'],
        help='Topics of the notifications. The name of a queue is the topic '
        'and ".info".',
    ),
    cfg.FloatOpt(
        'max_age',
        default=86400,
        min=60,
        help='Seconds after which an event that could not be sent is not '
        'sent any more. It stays in the history.',
    ),
)
