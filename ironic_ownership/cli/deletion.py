"""``compute node check-delete`` and ``compute node delete``."""

from __future__ import annotations

import argparse
import functools
import logging
import uuid as uuid_
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ironic_ownership.cli import base, confirmation, errors
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.engine.request_id import new_id
from ironic_ownership.observe import deletion as shown

if TYPE_CHECKING:
    from ironic_ownership.engine.deletion.remover import Batch, Remover

LOG = logging.getLogger(__name__)

_GATES = """\
gates, every one of them judged for every node:
  node_is_gone    Ironic answers 404 for its uuid, asked without any filter
  no_instance     no instance is on record for it
  no_allocation   nobody holds an allocation of its provider in Placement
  still_owner     the record still has the owner seen
  no_mass_loss    not too many nodes of its owner are missing at once
  sees_all_nodes  the credential lists as many nodes as Ironic counts

A gate that cannot be judged has failed. They cannot be overridden."""


class _Deletion(base.Lister):
    """A command about records whose nodes are gone."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser with the nodes."""
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'nodes',
            metavar='UUID|NAME',
            nargs='+',
            help='uuid of a node, or its name on record',
        )
        return parser

    @functools.cached_property
    def request_id(self) -> str:
        """The id that Ironic and Placement write into their logs."""
        return new_id()

    @functools.cached_property
    def remover(self) -> Remover:
        """What judges and deletes one record."""
        from ironic_ownership.engine.deletion.remover import Remover

        records = self.wiring.ready_records()
        placement = self.wiring.placement_of(self.request_id)
        source = self.wiring.inventory_of(self.request_id)
        return Remover(records, source, placement)

    def records_of(self, asked: Iterable[str]) -> list[model.ComputeNode]:
        """Return the records that are asked for, each of them once.

        :raises NotFoundError: naming all that are unknown.
        """
        everyone = self.wiring.ready_records().compute_nodes()
        by_uuid = {record.uuid: record for record in everyone}
        found: dict[str, model.ComputeNode] = {}
        unknown: list[exceptions.NotFoundError] = []
        for text in asked:
            try:
                record = _find(text, by_uuid)
            except exceptions.NotFoundError as exc:
                unknown.append(exc)
            else:
                found[record.uuid] = record
        if unknown:
            raise exceptions.NotFoundError('; '.join(map(str, unknown)))
        return list(found.values())

    def rounds(
        self, records: Iterable[model.ComputeNode]
    ) -> dict[str | None, Batch]:
        """Judge what the nodes of each owner have in common."""
        from ironic_ownership.engine.deletion import mass_loss

        everyone = self.wiring.ready_records().compute_nodes()
        limits = self.wiring.settings.tuning.limits
        source = self.wiring.inventory_of(self.request_id)
        rounds: dict[str | None, Batch] = {}
        for host in {record.host for record in records}:
            owned = [record for record in everyone if record.host == host]
            rounds[host] = mass_loss.judge(
                source, limits, self.wiring.scope, owned
            )
        return rounds


def _find(
    text: str, by_uuid: dict[str, model.ComputeNode]
) -> model.ComputeNode:
    try:
        uuid = str(uuid_.UUID(text))
    except ValueError:
        named = [r for r in by_uuid.values() if r.name == text]
        if len(named) == 1:
            return named[0]
        if named:
            uuids = ', '.join(sorted(r.uuid for r in named))
            raise exceptions.NotFoundError(
                f'{len(named)} compute nodes are called {text!r}',
                hint=f'Name one of them by its uuid: {uuids}',
            ) from None
        names = {r.name for r in by_uuid.values() if r.name}
        raise errors.unknown('compute node', text, names) from None
    if uuid not in by_uuid:
        raise errors.unknown('compute node', uuid, by_uuid)
    return by_uuid[uuid]


class CheckDeleteComputeNode(_Deletion):
    """Judge every gate of a deletion, and delete nothing.

    Exit code 0: each of the nodes could be deleted; 3: at least one not.
    """

    notes = _GATES
    examples = (
        'compute node check-delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11',
        'compute node check-delete rack1-node7 -f json',
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Judge the gates of the nodes."""
        from ironic_ownership.engine.deletion import gates

        records = self.records_of(parsed_args.nodes)
        rounds = self.rounds(records)
        judged = [
            shown.Judged(record, judgement)
            for record in records
            for judgement in gates.judge(
                self.remover.examine(record, rounds[record.host])
            )
        ]
        if not all(j.judgement.passed for j in judged):
            self.exit_code = errors.ExitCode.REFUSED
        return self.table(shown.GATES, judged)


class DeleteComputeNode(_Deletion):
    """Delete the records, and the providers, of nodes that are gone.

    A service does that by itself for its own nodes. This command acts in its
    place, whether it is alive or not: under the same gates, and only if the
    record still has the owner for which they were judged. A node that fails
    a gate keeps its record and its provider, and the others are deleted.
    """

    notes = _GATES
    examples = (
        'compute node delete 8d1f7a3e-6f5b-4f0c-9b55-0d0a2f6b7f11 --dry-run',
        'compute node delete rack1-node7 rack1-node8 --yes',
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of this command."""
        parser = super().get_parser(prog_name)
        confirmation.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        """Delete the nodes whose gates are all passed."""
        records = self.records_of(parsed_args.nodes)
        epochs = {
            service.host: service.epoch
            for service in self.wiring.ready_records().services()
        }
        rounds = self.rounds(records)
        results = [self._judged(r, rounds[r.host]) for r in records]
        passed = [r for r in results if r.result != shown.REFUSED]
        if passed and not parsed_args.dry_run:
            self._confirm(parsed_args, passed)
            results = [
                self._deleted(result, rounds[result.record.host], epochs)
                for result in results
            ]
        if any(r.result == shown.REFUSED for r in results):
            self.exit_code = errors.ExitCode.REFUSED
        return self.table(shown.RESULTS, results)

    def _confirm(
        self, args: argparse.Namespace, passed: Sequence[shown.Result]
    ) -> None:
        one = passed[0].record
        rest = f' and {len(passed) - 1} more' if len(passed) > 1 else ''
        what = f'delete compute node {one.name or one.uuid}{rest}'
        confirmation.confirm(args, f'{what[0].upper()}{what[1:]}')
        confirmation.announce(self.request_id, what)

    def _judged(self, record: model.ComputeNode, batch: Batch) -> shown.Result:
        from ironic_ownership.engine.deletion import gates

        judgements = gates.judge(self.remover.examine(record, batch))
        passed = all(j.passed for j in judgements)
        return shown.Result(
            record,
            shown.WOULD_DELETE if passed else shown.REFUSED,
            judgements,
        )

    def _deleted(
        self,
        judged: shown.Result,
        batch: Batch,
        epochs: dict[str, int],
    ) -> shown.Result:
        """Delete one node, whose gates are judged once more."""
        record = judged.record
        if judged.result == shown.REFUSED:
            return judged
        removals = self.wiring.ready_removals()

        def forget() -> bool:
            return removals.remove(
                record.uuid,
                seen_host=record.host,
                seen_epoch=epochs.get(record.host or ''),
                actor=confirmation.actor(),
            )

        outcome = self.remover.remove(
            record, batch, may_act=lambda: None, forget=forget
        )
        if outcome.deleted:
            LOG.info('%s: deleted %s', self.request_id, record.uuid)
        return shown.Result(
            record,
            shown.DELETED if outcome.deleted else shown.REFUSED,
            outcome.judgements,
            outcome.provider_deleted,
        )
