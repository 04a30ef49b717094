"""The client of Placement against a real one."""

from __future__ import annotations

import uuid as uuid_

from ironic_ownership.clients.placement import api
from ironic_ownership.contracts import exceptions, placement
from tests.contract.suites import placement as contract
from tests.functional.support import placements


class RealPlacementTest(
    contract.PlacementContract, placements.PlacementTestCase
):
    def setUp(self) -> None:
        super().setUp()
        self.placement = placements.open_placement(
            self.placement_server.options()
        )

    def provide(self) -> str:
        uuid = str(uuid_.uuid4())
        self.placement_server.provide(uuid)
        self.placement.put_inventory(uuid, contract.ONE)
        return uuid

    def allocate(self, uuid: str) -> str:
        return self.placement_server.allocate(uuid)

    def free(self, uuid: str, consumer: str) -> None:
        self.placement_server.free(consumer)

    def make_unavailable(self) -> None:
        self.stop_placement()

    def test_wrong_token_or_path_is_an_error_and_never_an_answer(self) -> None:
        elsewhere = f'{self.placement_server.endpoint}/elsewhere'
        for options in (
            {**self.placement_server.options(), 'token': ''},
            self.placement_server.options(elsewhere),
        ):
            wrong = placements.open_placement(options)
            for ask in (
                wrong.has_provider,
                wrong.consumers,
                wrong.inventory,
                wrong.delete_provider,
            ):
                self.assertRaises(
                    exceptions.PlacementError, ask, contract.MISSING
                )

    def test_conflict_that_does_not_end_is_given_up(self) -> None:
        uuid = self.provide()
        client = placements.open_placement(self.placement_server.options())
        real, reads = client.inventory, []

        def interrupted(asked: str) -> placement.Inventory | None:
            seen = real(asked)
            reads.append(seen)
            self.placement_server.set_traits(
                uuid, ['HW_CPU_X86_VMX'] if len(reads) % 2 else []
            )
            return seen

        client.inventory = interrupted  # type: ignore[method-assign]
        error = self.assertRaises(
            exceptions.ProviderBusyError,
            client.put_inventory,
            uuid,
            contract.RESERVED,
        )
        self.assertIn('attempts', str(error))
        self.assertIsInstance(error.__cause__, api.ConcurrentUpdateError)

    def test_standard_trait_that_does_not_exist_is_named(self) -> None:
        uuid = self.provide()
        error = self.assertRaises(
            exceptions.PlacementError,
            self.placement.put_traits,
            uuid,
            ['HW_NO_SUCH_TRAIT'],
        )
        self.assertIn('HW_NO_SUCH_TRAIT', str(error))
