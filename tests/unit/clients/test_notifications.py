"""Options of the group [notifications], and what is sent.

oslo.messaging is not installed here: a functional test sends through it.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import unittest
from unittest import mock

from oslo_config import cfg

from ironic_ownership.clients import notifications
from ironic_ownership.conf import core
from ironic_ownership.contracts import exceptions, model

GROUP = 'notifications'
URL = 'rabbit://user:secret@broker/'
EVENT = model.Event(
    7, 1738360799.5, 'anna', 'node_moved', to_host='rack2', request_id='req-1'
)


def configuration(url: str | None = URL) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf.register_opts(core.OPTS[GROUP], group=GROUP)
    conf([])
    conf.set_override('transport_url', url, group=GROUP)
    return conf


class Library(types.ModuleType):
    """In place of oslo.messaging: keeps what is sent, or fails."""

    def __init__(self) -> None:
        super().__init__('oslo_messaging')
        self.error: Exception | None = None
        self.sent: list[tuple[str, object, dict]] = []

    def Target(self, topic):
        return topic

    def get_notification_transport(self, conf, url):
        if self.error is not None:
            raise self.error
        return types.SimpleNamespace(_send_notification=self.send)

    def send(self, target, context, message, version, retry):
        if self.error is not None:
            raise self.error
        assert (version, retry) == (2.0, 0)
        self.sent.append((target, context, message))


class TestNotifications(unittest.TestCase):
    def refused(self, url: str = URL) -> str:
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            notifications.open_notifier(configuration(url), 'host1')
        self.assertNotIn('secret', str(caught.exception))
        return str(caught.exception)

    def library(self) -> Library:
        library = Library()
        self.enterContext(
            mock.patch.dict(sys.modules, {'oslo_messaging': library})
        )
        return library

    def test_off_by_default(self) -> None:
        self.assertIsNone(
            notifications.open_notifier(configuration(None), 'host1')
        )

    def test_missing_library_names_the_extra(self) -> None:
        if importlib.util.find_spec('oslo_messaging') is not None:
            self.enterContext(
                mock.patch.dict(sys.modules, {'oslo_messaging': None})
            )
        with mock.patch.dict(sys.modules):
            self.assertIn('.[notifications]', self.refused())

    def test_url_that_is_refused_keeps_its_password(self) -> None:
        self.library().error = ValueError(URL)
        text = self.refused()
        self.assertIn('[notifications] transport_url', text)
        self.assertIn('ValueError', text)

    def test_versioned_object_is_sent_to_each_topic(self) -> None:
        library, conf = self.library(), configuration()
        conf.set_override('topics', ['a', 'b'], group=GROUP)
        client = notifications.open_notifier(conf, 'host1')
        assert client is not None
        client(EVENT)
        self.assertEqual(
            ['a.info', 'b.info'], [topic for topic, _, _ in library.sent]
        )
        (_, context, message), *_ = library.sent
        self.assertEqual({'request_id': 'req-1'}, context)
        self.assertEqual(
            ('ironic-ownership-host:host1', 'ownership.node_moved', 'INFO'),
            tuple(
                message[key]
                for key in ('publisher_id', 'event_type', 'priority')
            ),
        )
        data = message['payload']['ironic_ownership_object.data']
        self.assertEqual('2025-01-31T21:59:59.500000Z', data['at'])
        self.assertEqual(
            (7, 'anna', 'rack2', None),
            tuple(
                data[key] for key in ('id', 'actor', 'to_host', 'node_uuid')
            ),
        )

    def test_any_error_of_the_library_is_an_outage(self) -> None:
        library = self.library()
        client = notifications.open_notifier(configuration(), 'host1')
        assert client is not None
        library.error = RuntimeError('away')
        with self.assertRaisesRegex(
            exceptions.NotificationError, 'RuntimeError: away'
        ):
            client(EVENT)
