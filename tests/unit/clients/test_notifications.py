"""Options of the group [notifications], and what is sent.

oslo.messaging is not installed here: a functional test sends through it.
"""

from __future__ import annotations

import sys
import types
import unittest
from typing import Any
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
    def refused(self, **options: object) -> str:
        conf = configuration()
        for name, value in options.items():
            conf.set_override(name, value, group=GROUP)
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            self.client(conf)
        self.assertNotIn('secret', str(caught.exception))
        return str(caught.exception)

    def library(self) -> Library:
        library = Library()
        self.enterContext(
            mock.patch.dict(sys.modules, {'oslo_messaging': library})
        )
        return library

    def client(self, conf: cfg.ConfigOpts) -> Any:
        return notifications.open_notifier(conf, 'host1')

    def test_off_by_default(self) -> None:
        self.assertIsNone(self.client(configuration(None)))

    def test_missing_library_names_the_extra(self) -> None:
        with mock.patch.dict(sys.modules, {'oslo_messaging': None}):
            self.assertIn('.[notifications]', self.refused())

    def test_topics_without_a_name_are_refused(self) -> None:
        self.library()
        for topics in ([], ['a', '']):
            self.assertIn('topics', self.refused(topics=topics))

    def test_url_that_is_refused_keeps_its_password(self) -> None:
        self.library().error = ValueError(URL)
        text = self.refused()
        self.assertIn('[notifications] transport_url', text)
        self.assertIn('ValueError', text)

    def test_versioned_object_is_sent_to_each_topic(self) -> None:
        library, conf = self.library(), configuration()
        conf.set_override('topics', ['a', 'b'], group=GROUP)
        self.client(conf)(EVENT)
        self.assertEqual(
            ['a.info', 'b.info'], [topic for topic, _, _ in library.sent]
        )
        (_, context, message), *_ = library.sent
        self.assertEqual({'request_id': 'req-1'}, context)
        for key, value in (
            ('publisher_id', 'ironic-ownership-host:host1'),
            ('event_type', 'ownership.node_moved'),
            ('priority', 'INFO'),
        ):
            self.assertEqual(value, message[key])
        data = message['payload']['ironic_ownership_object.data']
        for key, value in (
            ('at', '2025-01-31T21:59:59.500000Z'),
            ('id', 7),
            ('actor', 'anna'),
            ('to_host', 'rack2'),
            ('node_uuid', None),
        ):
            self.assertEqual(value, data[key])

    def test_any_error_of_the_library_is_an_outage(self) -> None:
        library = self.library()
        client = self.client(configuration())
        library.error = RuntimeError('away')
        with self.assertRaisesRegex(
            exceptions.NotificationError, 'RuntimeError: away'
        ):
            client(EVENT)
