from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
import unittest
from typing import Any
from unittest import mock

from ironic_ownership.api.resources import reservations
from ironic_ownership.cli import errors, reservation
from ironic_ownership.observe import columns

INSTANCE = '00000000-0000-4000-8000-000000000901'
LEAST = ('--instance', INSTANCE, '--service', 'Rack1')


class TestInput(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name) / 'request'

    def read(self, *words: str) -> dict[str, Any]:
        parser = argparse.ArgumentParser(exit_on_error=False)
        reservation.CreateReservation(None, None).add_arguments(parser)
        return reservation._body(parser.parse_args(words))

    def file(self, content: object) -> tuple[str, str]:
        self.path.write_text(
            content if isinstance(content, str) else json.dumps(content)
        )
        return '--request', str(self.path)

    def test_options_make_up_a_request(self) -> None:
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
                *LEAST,
                *('--resource-class', 'gold', '--memory-mb', '1024'),
                *('--trait', 'CUSTOM_B', '--trait', 'CUSTOM_A'),
                *('--forbidden-trait', 'CUSTOM_C', '--vcpus', '2'),
                *('--root-gb', '3', '--ephemeral-gb', '4', '--swap', '5'),
                *('--extra-spec', 'capabilities:a=>= 2'),
                *('--extra-spec', 'b='),
                *('--image-property', 'hw_architecture=x=y'),
                *('--node', 'rack1-7'),
            ),
        )

    def test_options_count_more_than_the_file(self) -> None:
        file = self.file(
            {
                'instance_uuid': INSTANCE,
                'service': 'rack1',
                'vcpus': 1,
                'extra_specs': {'a': '1', 'b': '2'},
            }
        )
        self.assertEqual(
            {
                'instance_uuid': INSTANCE,
                'service': 'rack1',
                'vcpus': '8',
                'extra_specs': {'a': '1', 'b': '3'},
            },
            self.read(*file, '--vcpus', '8', '--extra-spec', 'b=3'),
        )

    def test_file_can_be_yaml(self) -> None:
        file = self.file(f'instance_uuid: {INSTANCE}\nservice: rack1\n')
        self.assertEqual('rack1', self.read(*file)['service'])

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
            self.assertEqual(expected, self.read(*self.file(content), *more))

    def test_file_that_cannot_be_read_is_wrong_usage(self) -> None:
        for file in (
            ('--request', str(self.path / 'nowhere')),
            self.file('{"a": [}'),
        ):
            with self.assertRaises(errors.UsageError):
                self.read(*file)

    def test_pair_without_a_name_is_wrong_usage(self) -> None:
        for text in ('a', '=b', ''):
            with self.assertRaises(argparse.ArgumentError):
                self.read(*LEAST, '--extra-spec', text)


class _Caller:
    """Answers each call with one reservation: that of an instance."""

    request_id = 'req-1'

    def __init__(self) -> None:
        self.calls: list[str] = []

    def call(self, name: str, path: dict[str, str]) -> dict[str, Any]:
        shows = name == 'reservation:show'
        assert path == {'id': 'instance' if shows else 'one'}
        self.calls.append(name)
        return {
            **dict.fromkeys(columns.keys(reservations.DETAILED)),
            'id': 'one',
        }


class TestChange(unittest.TestCase):
    def calls(self, command: type[reservation._Changing], *words: str) -> Any:
        caller = _Caller()
        run = command(mock.Mock(api=caller), None)
        args = run.get_parser('x').parse_args(['instance', *words])
        keys, cells = run.take_action(args)
        self.assertEqual(columns.keys(reservations.DETAILED), keys)
        self.assertEqual('one', cells[0])
        return caller.calls

    def test_dry_run_only_shows_the_reservation(self) -> None:
        for command in (
            reservation.ConfirmReservation,
            reservation.DeleteReservation,
        ):
            self.assertEqual(
                ['reservation:show'], self.calls(command, '--dry-run')
            )

    def test_change_shows_the_reservation_first(self) -> None:
        self.assertEqual(
            ['reservation:show', 'reservation:delete'],
            self.calls(reservation.DeleteReservation, '--yes'),
        )
        self.assertEqual(
            ['reservation:show', 'reservation:confirm'],
            self.calls(reservation.ConfirmReservation, '--yes'),
        )
