"""Answers that are not Placement's, and options of [placement]."""

from __future__ import annotations

import json
import time
import unittest
from collections.abc import Mapping
from unittest import mock

from ironic_ownership.clients import options
from ironic_ownership.clients.placement import api, client
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.placement import DISABLED
from lab import http_server
from tests.unit import configurations

UUID = '00000000-0000-4000-8000-000000000001'
SIGNED = {'OpenStack-API-Version': 'placement 1.36'}
HTML = {'Content-Type': 'text/html'}


def fault(detail: str, code: str = 'placement.undefined_code') -> bytes:
    return json.dumps({'errors': [{'detail': detail, 'code': code}]}).encode()


MISSING = fault(f'No resource provider with uuid {UUID} found')


class AnswerTest(configurations.ConfiguredCase):
    """A server that gives every request the same answer."""

    def setUp(self) -> None:
        super().setUp()
        self.requests: list[tuple[str, str]] = []
        self.headers: list[Mapping[str, str]] = []
        server = http_server.Server(self.give)
        self.addCleanup(server.stop)
        self.url = server.url
        self.answer: tuple[int, dict[str, str], bytes] = (200, SIGNED, b'{}')

    def give(self, request: http_server.Request) -> http_server.Answer:
        self.requests.append((request.method, request.path))
        self.headers.append(request.headers)
        status, headers, body = self.answer
        return status, headers.items(), body

    def open(self, request_id: str | None = None) -> client.PlacementClient:
        opened = options.open_placement(
            self.configure(
                '[placement]\nauth_type = admin_token\ntoken = t\n'
                f'endpoint = {self.url}'
            ),
            request_id,
        )
        assert opened is not None
        return opened

    def assert_no_answer(self, error: type[Exception]) -> None:
        placement = self.open()
        for ask in (
            placement.has_provider,
            placement.consumers,
            placement.delete_provider,
            placement.inventory,
            placement.traits,
        ):
            with self.assertRaises(error) as caught:
                ask(UUID)
            self.assertIs(error, type(caught.exception))
            self.assertNotIn('\n', str(caught.exception))

    def test_any_other_answer_is_an_error(self) -> None:
        other, unavailable, refused = (
            exceptions.PlacementError,
            exceptions.PlacementUnavailableError,
            exceptions.PlacementRefusedError,
        )
        for error, *answer in (
            (other, 404, {}, MISSING),
            (other, 404, HTML, b'<html>404</html>'),
            (other, 404, SIGNED, fault('The resource could not be found.')),
            (other, 404, SIGNED, b'nonsense'),
            (other, 404, {'OpenStack-API-Version': 'compute 2.1'}, MISSING),
            # A success of something else is no deletion.
            (other, 200, HTML, b'<html>Welcome</html>'),
            (other, 204, {}, b''),
            (other, 200, SIGNED, b'[]'),
            (other, 200, SIGNED, b'<html>'),
            (other, 302, {'Location': 'http://127.0.0.1:1/'}, b''),
            *((unavailable, n, HTML, b'x') for n in (500, 502, 503, 504, 429)),
            # Only Placement's own 400 and 409 are about one provider.
            *((refused, n, SIGNED, fault('no trait')) for n in (400, 409)),
            *((other, n, HTML, b'<html>no</html>') for n in (400, 409)),
            *((other, n, SIGNED, fault('go away')) for n in (401, 403, 406)),
        ):
            self.answer = tuple(answer)
            self.assert_no_answer(error)
        # Only Placement's own 404 is a missing provider.
        self.answer = 404, SIGNED, MISSING
        self.assertIsNone(self.open().consumers(UUID))
        self.assertFalse(self.open().delete_provider(UUID))

    def test_request_waits_for_no_clock_that_was_set_back(self) -> None:
        self.answer = 200, SIGNED, b'{"inventories": {}}'
        placement = self.open()
        self.assertTrue(placement.has_provider(UUID))
        now = time.time()
        with (
            mock.patch('time.time', lambda: now - 3600),
            mock.patch('time.sleep', side_effect=AssertionError),
        ):
            self.assertTrue(placement.has_provider(UUID))

    def test_credentials_are_named_when_they_are_refused(self) -> None:
        for status in (401, 403):
            self.answer = status, SIGNED, fault('no')
            with self.assertRaisesRegex(
                exceptions.PlacementError, r'\[placement\]'
            ):
                self.open().consumers(UUID)

    def test_answers_without_the_requested_object_are_errors(self) -> None:
        placement = self.open()
        for number in ('Infinity', '1e999', 'NaN', '-1', 'true', '"x"'):
            self.answer = (
                *(200, SIGNED),
                b'{"resource_provider_generation": %s, "traits": [], '
                b'"inventories": {}}' % number.encode(),
            )
            for ask in (
                placement.consumers,
                placement.inventory,
                placement.traits,
            ):
                self.assertRaises(exceptions.PlacementError, ask, UUID)

    def test_allocations_make_a_deletion_fail_as_such(self) -> None:
        for detail, code, error in (
            (
                'has allocations',
                'placement.resource_provider.inuse',
                exceptions.ProviderInUseError,
            ),
            (
                'has children',
                'placement.other',
                exceptions.PlacementRefusedError,
            ),
        ):
            self.answer = 409, SIGNED, fault(detail, code)
            with self.assertRaises(error) as caught:
                self.open().delete_provider(UUID)
            self.assertIs(error, type(caught.exception))

    def test_request_id_and_version_are_sent(self) -> None:
        self.open('req-1').has_provider(UUID)
        (sent,) = self.headers
        self.assertEqual('req-1', sent['x-openstack-request-id'])
        self.assertEqual('placement 1.36', sent['openstack-api-version'])
        self.assertEqual(
            [('GET', f'/resource_providers/{UUID}')], self.requests
        )


class RefusedWriteTest(unittest.TestCase):
    def test_refused_write_may_have_arrived_before(self) -> None:
        disabled = {'traits': [DISABLED], 'resource_provider_generation': 2}
        for known, answers, expected in (
            (disabled, (), False),
            ({**disabled, 'traits': []}, (disabled,), True),
            # Sent twice: the first took effect, the second is refused.
            (
                {**disabled, 'traits': []},
                (api.ConcurrentUpdateError('other generation'), disabled),
                True,
            ),
        ):
            with mock.patch.object(
                api, 'send', side_effect=[known, *answers]
            ) as send:
                placement = client.PlacementClient(mock.MagicMock())
                found = placement.put_disabled(UUID, disabled=True)
            self.assertIs(expected, found)
            self.assertEqual(1 + len(answers), send.call_count)


class OptionsTest(configurations.ConfiguredCase):
    def opened(self, text: str) -> client.PlacementClient | None:
        return options.open_placement(self.configure(text))

    def test_without_the_group_placement_is_not_used(self) -> None:
        for text in (
            '',
            '[ironic]\nauth_type = none',
            '[placement]',
            '[placement]\n# auth_type = password',
            '[placement]\nenabled = false\nauth_type = password',
            '[place]\na = b\n[my_replacement]\nc=d',
        ):
            self.assertIsNone(self.opened(text), text)

    def test_any_line_turns_it_on_and_has_to_be_complete(self) -> None:
        for text in (
            'enabled = true',
            'auth_type = password',
            'auth_tpye = password',
            'timeout = 5',
            'auth_type = nonesuch',
            'auth_type = none',
        ):
            with self.assertRaises(exceptions.PlacementError) as caught:
                self.opened(f'[placement]\n{text}')
            self.assertIn('[placement]', str(caught.exception))
            self.assertIn('enabled = false', str(caught.exception))
            self.assertNotIn('ironic', str(caught.exception))

    def test_misspelt_group_or_value_is_an_error(self) -> None:
        for text, group in (
            ('[placment]\nauth_type = password', '[placment]'),
            ('[placements]\nauth_type = password', '[placements]'),
            ('[Placment]\nauth_type = password', '[Placment]'),
            ('[plaecment]\nauth_type = password', '[plaecment]'),
            ('[placement]\nenabled = maybe', '[placement]'),
            ('[placement]\nauth_type = none\ntimeout = soon', '[placement]'),
        ):
            with self.assertRaises(exceptions.ConfigurationError) as caught:
                self.opened(text)
            self.assertIn(group, str(caught.exception), text)

    def test_inventory_is_reported_if_asked_for(self) -> None:
        for reports, text in (
            (False, ''),
            (False, '[placement]\nenabled = false'),
            (False, '[placement]\nenabled = false\nreport_inventory = true'),
            (False, '[placement]\nauth_type = password'),
            (True, '[placement]\nenabled = true\nreport_inventory = true'),
            (False, '[placement]\nenabled = true\nreport_inventory = false'),
        ):
            conf = self.configure(text)
            found = bool(options.value(conf, 'report_inventory'))
            self.assertIs(reports, found, text)

    def test_providers_are_compared_if_an_interval_is_set(self) -> None:
        for seconds, line in ((0, ''), (60, 'compare_interval = 60')):
            conf = self.configure(f'[placement]\nenabled = true\n{line}')
            self.assertEqual(seconds, options.value(conf, 'compare_interval'))
        for name, text in (
            ('report_inventory', 'perhaps'),
            ('compare_interval', '-1'),
        ):
            conf = self.configure(f'[placement]\n{name} = {text}')
            with self.assertRaises(exceptions.ConfigurationError):
                options.value(conf, name)
