from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
import unittest
from typing import Any
from unittest import mock

from ironic_ownership.api import schemas
from ironic_ownership.api.resources import reservations
from ironic_ownership.cli import errors, reservation

INSTANCE = '00000000-0000-4000-8000-000000000901'
LEAST = ('--instance', INSTANCE, '--service', 'Rack1')


class TestInput(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.path = pathlib.Path(directory) / 'request'

    def read(self, *words: str) -> dict[str, Any]:
        parser = argparse.ArgumentParser(exit_on_error=False)
        reservation.CreateReservation(None, None).add_arguments(parser)
        return reservation._body(parser.parse_args(words))

    def file(self, content: str) -> tuple[str, str]:
        self.path.write_text(content)
        return '--request', str(self.path)

    def test_keys_of_a_request_are_texts(self) -> None:
        body = self.read(*self.file('extra_specs: {1.5: [x], null: 2}'))
        self.assertEqual({'extra_specs': {'1.5': ['x'], 'null': 2}}, body)

    def test_options_make_up_a_request(self) -> None:
        words = (
            '--resource-class gold --memory-mb 1024 --vcpus 2 --root-gb 3 '
            '--ephemeral-gb 4 --swap 5 --trait CUSTOM_B --trait CUSTOM_A '
            '--forbidden-trait CUSTOM_C --extra-spec b= --node rack1-7 '
            '--image-property hw_architecture=x=y'
        )
        self.assertEqual(
            {
                'instance_uuid': INSTANCE,
                'service': 'Rack1',
                'resource_class': 'gold',
                'traits': ['CUSTOM_B', 'CUSTOM_A'],
                'forbidden_traits': ['CUSTOM_C'],
                'memory_mb': '1024',
                'vcpus': '2',
                'root_gb': '3',
                'ephemeral_gb': '4',
                'swap': '5',
                'extra_specs': {'capabilities:a': '>= 2', 'b': ''},
                'image': {'properties': {'hw_architecture': 'x=y'}},
                'node': 'rack1-7',
            },
            self.read(
                *LEAST, '--extra-spec', 'capabilities:a=>= 2', *words.split()
            ),
        )

    def test_options_count_more_than_the_file(self) -> None:
        least = {'instance_uuid': INSTANCE, 'service': 'rack1'}
        json_text = json.dumps(
            {**least, 'vcpus': 1, 'extra_specs': {'a': '1', 'b': '2'}}
        )
        yaml_text = (
            f'instance_uuid: {INSTANCE}\nservice: rack1\nvcpus: 1\n'
            'extra_specs: {a: "1", b: "2"}'
        )
        for text in (json_text, yaml_text):
            self.assertEqual(
                {**least, 'vcpus': '8', 'extra_specs': {'a': '1', 'b': '3'}},
                self.read(
                    *self.file(text), '--vcpus', '8', '--extra-spec', 'b=3'
                ),
            )

    def test_what_is_not_a_request_is_left_to_the_schema(self) -> None:
        more = ('--extra-spec', 'a=1', '--image-property', 'b=1')
        extra, image = {'a': '1'}, {'properties': {'b': '1'}}
        for content, expected in (
            ([], []),
            (
                {'image': None, 'x': ' a '},
                {'image': image, 'x': 'a', 'extra_specs': extra},
            ),
            ({'extra_specs': 7, 'image': 7}, {'extra_specs': 7, 'image': 7}),
        ):
            file = self.file(json.dumps(content))
            self.assertEqual(expected, self.read(*file, *more))

    def test_what_cannot_be_read_is_wrong_usage(self) -> None:
        for file in (
            ('--request', str(self.path / 'nowhere')),
            self.file('{"a": [}'),
        ):
            with self.assertRaises(errors.UsageError):
                self.read(*file)
        for text in ('a', '=b', ''):
            with self.assertRaises(argparse.ArgumentError):
                self.read(*LEAST, '--extra-spec', text)


class TestChange(unittest.TestCase):
    def test_change_shows_the_reservation_first(self) -> None:
        """Change what is shown: an instance may have another by then."""
        cells = dict.fromkeys(schemas.keys(reservations.DETAILED))
        show = mock.call('reservation:show', path={'id': 'instance'})
        for command, name in (
            (reservation.ConfirmReservation, 'reservation:confirm'),
            (reservation.DeleteReservation, 'reservation:delete'),
        ):
            change = mock.call(name, path={'id': 'one'})
            for word, calls in (
                ('--dry-run', [show]),
                ('--yes', [show, change]),
            ):
                api = mock.Mock(request_id='req-1')
                api.call.return_value = {**cells, 'id': 'one'}
                run = command(mock.Mock(api=api), None)
                args = run.get_parser('x').parse_args(['instance', word])
                keys, found = run.take_action(args)
                self.assertEqual((*cells,), (*keys,))
                self.assertEqual('one', found[0])
                self.assertEqual(calls, api.call.mock_calls)
