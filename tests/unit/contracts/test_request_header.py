"""The signed header of requests to Ironic."""

from __future__ import annotations

import unittest

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.contracts import request_header
from ironic_ownership.contracts.request_header import Claim

KEY, OTHER = 'k' * 32, 'o' * 32
NODE = '11111111-2222-4333-8444-555555555555'
PATH = f'/v1/nodes/{NODE}'
URL = f'https://ironic.example.org:6385{PATH}'
CLAIM = Claim('host1', 7, NODE, 1_700_000_000)


def is_signed(
    value: str,
    *keys: str,
    method: str = 'PATCH',
    path: str = PATH,
) -> bool:
    found = request_header.read(value)
    return found is not None and found[0].is_signed(
        found[1], keys or (KEY,), method, path
    )


class RequestHeaderTest(unittest.TestCase):
    @hypothesis.given(
        st.text(st.characters(exclude_categories=['Cs']), max_size=30),
        st.integers(0, 2**63),
        st.text(st.characters(exclude_categories=['Cs']), max_size=30),
    )
    def test_it_is_read_as_it_was_written(
        self, service: str, epoch: int, node: str
    ) -> None:
        claim = Claim(service, epoch, node, 5)
        value = claim.header(KEY, 'PUT', URL)
        self.assertTrue(value.isascii() and value.isprintable())
        read = request_header.read(value)
        self.assertEqual(claim, read and read[0])
        self.assertTrue(is_signed(value, method='PUT'))

    def test_signature_holds_for_one_request_and_one_claim(self) -> None:
        value = CLAIM.header(KEY, 'PATCH', URL)
        self.assertTrue(is_signed(value))
        self.assertTrue(is_signed(value, OTHER, KEY))
        self.assertFalse(is_signed(value, OTHER))
        self.assertFalse(is_signed(value, method='DELETE'))
        self.assertFalse(is_signed(value, path=f'{PATH}/states/power'))
        for before, after in (
            ('host1', 'host2'),
            ('epoch=7', 'epoch=8'),
            ('time=1700000000', 'time=1800000000'),
            (NODE, NODE.replace('5', '6')),
        ):
            changed = value.replace(before, after)
            self.assertNotEqual(changed, value)
            self.assertIsNotNone(request_header.read(changed))
            self.assertFalse(is_signed(changed))

    def test_fields_cannot_be_shifted_into_one_another(self) -> None:
        one = Claim('a\nb', 1, 'c', 2).header(KEY, 'PATCH', URL)
        two = Claim('a', 1, 'b\nc', 2).header(KEY, 'PATCH', URL)
        self.assertNotEqual(one.rpartition('=')[2], two.rpartition('=')[2])

    def test_path_is_the_same_for_both_sides_of_a_proxy(self) -> None:
        for url, path in (
            (f'https://x/baremetal{PATH}', PATH),
            (f'https://x{PATH}?reset_interfaces=true', PATH),
            (f'https://x{PATH}/', PATH),
            ('https://x/v1/nodes/a%20b', '/v1/nodes/a b'),
            ('https://x/v1/nodes/a%2520b', '/v1/nodes/a%20b'),
        ):
            value = CLAIM.header(KEY, 'PATCH', url)
            self.assertTrue(is_signed(value, path=path), url)

    def test_anything_else_is_no_header(self) -> None:
        good = CLAIM.header(KEY, 'PATCH', URL)
        for value in (
            '',
            'x',
            f'{good}, {good}',
            good.replace('version=1', 'version=2'),
            good.replace('epoch=7', 'epoch=seven'),
            good.replace('service', 'servant'),
            good + '&more=1',
            good.partition('&signature')[0],
            good.replace('host1', '%ff'),
            good + 'é',
            good.replace('host1', 'h' * 2000),
        ):
            self.assertIsNone(request_header.read(value), value)
