"""The power of the simulation: changes that break the protocol, to be found.

``python -m tests.simulation.mutants`` applies each to a copy of the product,
runs schedules until a law is broken, and prints how many that took. One that
survives shows that a fault or a law is missing.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
import traceback
from typing import NamedTuple, NoReturn

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = 'ironic_ownership'


class Mutant(NamedTuple):
    """A change of one place.

    :param file: in the package.
    :param old: text that is there once.
    :param also: file, old and new text of other guards, each of which alone
        keeps the same law: the simulation can't see that one is missing.
    :param story: where it is looked for first.
    """

    name: str
    file: str
    old: str
    new: str
    also: tuple[tuple[str, str, str], ...] = ()
    story: str = '*'

    @property
    def edits(self) -> tuple[tuple[str, str, str], ...]:
        """All changes: the file of each, and its text before and after."""
        return ((self.file, self.old, self.new), *self.also)


_FENCE = 'engine/membership/fence.py'
_REGISTRATION = 'engine/membership/registration.py'
_MEMBER = 'engine/membership/local_member.py'
_DETECTOR = 'engine/membership/failure_detector.py'
_GUARD = 'engine/host/action_guard.py'
_CHANGES = 'db/change_set.py'
_ORDERS = 'db/standing_orders.py'
_MOVE = 'db/move_transaction.py'
_TRIAL = 'engine/changes/trial.py'
_BEATS = 'db/heartbeats.py'
_MIDDLEWARE = '../ironic_middleware/ironic_ownership_middleware'
_TAKE_OVER = 'engine/host/takeover.py'
_PLAN = 'engine/host/reconcile_plan.py'

_CONFIRMED = (
    ('db/records.py', '            confirm()\n', '            pass\n'),
)
_DEPLOYED = (
    (
        'engine/decision/decide.py',
        'deployed = bool(node.instance_uuid or recorded_instance)',
        'deployed = False',
    ),
)

_LATE_SERVICES = """\
        services, view = read_members(rows, ports)
        services = {s.host: s for s in ports.records.services()}
"""

MUTANTS = (
    # The right to write, in the records.
    Mutant(
        'writers are not checked',
        'db/change_transaction.py',
        'transaction.check_right(host, epoch, services.get(host))',
        'pass',
        story='forced-down-in-a-refresh',
    ),
    Mutant(
        'an old epoch may write, and its lease is not confirmed',
        'db/transaction.py',
        'if current != epoch:',
        'if current < epoch:',
        also=_CONFIRMED,
        story='failover',
    ),
    Mutant(
        'a fence leaves the row as it is',
        'db/transaction.py',
        'epoch=_services.epoch + 1, fenced=True',
        'epoch=_services.epoch',
    ),
    Mutant(
        'a registration does not raise the epoch',
        'db/registration.py',
        'epoch = int(now * 1000)\n',
        'epoch = last or int(now * 1000)\n    last = epoch - 1\n',
    ),
    Mutant(
        'epochs of lost commits are given again',
        'db/registration.py',
        'epoch = int(now * 1000)\n',
        'epoch = last + 1\n',
    ),
    Mutant(
        'a service that is forced down may register',
        'db/registration.py',
        'if before is not None and before.forced_down:',
        'if before is None and host is None:',
    ),
    Mutant(
        'the place of a live process is taken',
        'db/registration.py',
        'if alive is None or active in alive or came_back:',
        'if alive is None:',
    ),
    Mutant(
        'a late request of a standby replaces a process that came back',
        'db/registration.py',
        'if alive is None or active in alive or came_back:',
        'if alive is None or active in alive:',
        story='late-request-of-a-standby',
    ),
    Mutant(
        'a failover keeps the epoch and the right',
        'db/registration.py',
        'epoch=before.epoch + 1,\n        fenced=True,\n'
        '        incarnation=incarnation,',
        'incarnation=incarnation,',
    ),
    Mutant(
        'forcing down only sets a flag',
        'contracts/model.py',
        'epoch=self.epoch + 1 if stopped else self.epoch,\n'
        '            fenced=self.fenced or stopped,\n',
        '',
        story='forced-down-in-a-refresh',
    ),
    Mutant(
        'a claim does not compare the owner',
        _CHANGES,
        'if self._owner(node.uuid) != seen:\n            return False',
        'pass',
    ),
    Mutant(
        'an update does not compare the owner',
        _CHANGES,
        'if self._owner(node.uuid) != self.host:\n            return False\n'
        '        row',
        'row',
        story='deployed-during-a-move',
    ),
    Mutant(
        'a node is taken from an owner that came back',
        _CHANGES,
        'return owner.fenced or owner.epoch == claim.seen_epoch',
        'return True',
        story='claim-held-up',
    ),
    Mutant(
        'a take-over does not fence',
        _CHANGES,
        'self._fence(host, cause)\n\n    def _fence',
        'pass\n\n    def _fence',
    ),
    Mutant(
        'a deployed node is taken over',
        _CHANGES,
        'if claim.node.instance_uuid or claim.uuid in self.open_instances:',
        'if not claim.uuid:',
        also=_DEPLOYED,
    ),
    Mutant(
        'a deployed node is released or deleted',
        _CHANGES,
        'if self._owner(uuid) != self.host or uuid in self.open_instances:\n'
        '            return False\n        if isinstance',
        'if self._owner(uuid) != self.host:\n'
        '            return False\n        if isinstance',
        also=_DEPLOYED,
    ),
    Mutant(
        'a claim does not write the row of the owner',
        'db/change_transaction.py',
        'transaction.raise_revisions(conn, decided.services)',
        'transaction.raise_revisions(conn, [decided.host])',
        story='claim-held-up',
    ),
    Mutant(
        'a transaction does not write the services that it locks',
        'db/transaction.py',
        'raise_revisions(conn, [row.host for row in found])',
        'pass',
        story='held-up-under-a-pause',
    ),
    # The lease, in a process.
    Mutant(
        'the lease runs from the answer of a beat',
        _FENCE,
        'had_expired = self._clock() >= self._until\n'
        '            self._until = beat_started + self._length',
        'had_expired = self._clock() >= self._until\n'
        '            self._until = self._clock() + self._length',
        story='heartbeat-answered-late',
    ),
    Mutant(
        'the lease outlasts the membership',
        _FENCE,
        'self._length = member_ttl - margin',
        'self._length = member_ttl + 3 * margin',
    ),
    Mutant(
        'a lease never ends',
        _FENCE,
        'if self._epoch is None or self._clock() >= self._until:',
        'if self._epoch is None:',
    ),
    Mutant(
        'a late beat extends a lease that was dropped',
        _FENCE,
        'if self._epoch is None:\n                return',
        'if self._epoch is None:\n                self._epoch = 0',
    ),
    Mutant(
        'a permission is not bound to the term',
        _GUARD,
        'if found.term != self._given.term:',
        'if found.term < self._given.term:',
        story='guard-after-a-fence',
    ),
    Mutant(
        'a permission lasts too long',
        _GUARD,
        'until = min(lease.until, started + self._longest)',
        'until = started + 8 * self._longest',
    ),
    Mutant(
        'a permission counts from the answer',
        _GUARD,
        'until = min(lease.until, started + self._longest)',
        'until = min(lease.until, self._context.clock() + self._longest)',
        story='permission-answered-late',
    ),
    Mutant(
        'the guard does not read the row of the service',
        _GUARD,
        '_check_service(self.host, lease.epoch, row)',
        'pass',
        story='permission-answered-late',
    ),
    Mutant(
        'the guard does not read the owner',
        _GUARD,
        'if record is None or record.host != self.host:',
        'if record is None:',
    ),
    Mutant(
        'a process that lost its membership keeps its lease',
        _REGISTRATION,
        'with self._lock:\n            self._fence.drop()\n'
        '            if isinstance(self._state, Active | Unregistered):',
        'with self._lock:\n'
        '            if isinstance(self._state, Active | Unregistered):',
        story='claim-held-up',
    ),
    Mutant(
        'an answer counts although the state has changed',
        _REGISTRATION,
        'if self._state is not instead_of:\n                return False',
        'pass',
    ),
    Mutant(
        'a process does not follow the row of its service',
        _REGISTRATION,
        'if row is None or loss is not None:',
        'if row is None and loss is None:',
        story='forced-down-in-a-refresh',
    ),
    Mutant(
        'settings that were stored late stay in the view',
        _MEMBER,
        'if stored[own.incarnation] != self._joined_with:',
        'if not stored:',
        story='settings-stored-late',
    ),
    Mutant(
        'settings that were stored late stay in the row',
        _REGISTRATION,
        'return row.settings != state.settings and self._become(',
        'return row.settings is state and self._become(',
        story='settings-without-an-answer',
    ),
    Mutant(
        'siblings that may be alive are not named',
        _REGISTRATION,
        'alive=siblings,',
        'alive=(),',
        story='joined-twice',
    ),
    Mutant(
        'siblings count before the process is settled',
        _MEMBER,
        'siblings.present | siblings.suspect if siblings.settled else None',
        'siblings.present | siblings.suspect',
        story='store-restarted-empty',
    ),
    # Who is dead.
    Mutant(
        'a death needs no proof',
        _DETECTOR,
        'self._missed_since[host] < self._beat_started\n'
        '            and self._beat_ended <= polled',
        'True',
    ),
    Mutant(
        'an observer need not settle',
        _DETECTOR,
        'settled = started >= self._settled_at',
        'settled = True',
        story='store-restarted-empty',
    ),
    Mutant(
        'a mass loss of members is believed at once',
        _DETECTOR,
        'self._settled_at = ended + self._settling_time\n        for host',
        'pass\n        for host',
        story='store-loses-most',
    ),
    Mutant(
        'members that have joined again were not lost',
        _DETECTOR,
        'lost = {host for host, _ in self._entries - entries}',
        'lost = vanished',
        story='store-loses-most',
    ),
    Mutant(
        'a heartbeat counts for less than the time to live',
        _BEATS,
        'self._alive_until[key] = ended + self._ttl\n',
        'self._alive_until[key] = ended + 0.6 * self._ttl\n',
        story='stood-still',
    ),
    Mutant(
        'the clock of the database decides about deaths',
        _BEATS,
        'if before is not None and fresh:',
        'if before is not None and not fresh:',
        story='clock-of-the-database',
    ),
    Mutant(
        'a beat after the expiry counts',
        _BEATS,
        'if not (self._is_alive() and self._call(work) and self._is_alive()):',
        'if not self._call(work):',
        story='claim-held-up',
    ),
    Mutant(
        'suspects do not defer a take-over',
        _PLAN,
        'if plan.suspects or not _is_gone(owner, row, liveness):',
        'if False:',
        story='store-loses-most',
    ),
    Mutant(
        'a live owner keeps what is not its own any more',
        _PLAN,
        'plan.changes.append(Release(node.uuid, node=node))',
        'pass',
        story='deployed-meanwhile',
    ),
    Mutant(
        'instances are not read again before a release',
        'engine/host/snapshot.py',
        'return Update(node) if node.instance_uuid else change',
        'return change',
        story='deployed-meanwhile',
    ),
    Mutant(
        'a node that was deployed when it was released is adopted',
        'engine/decision/decide.py',
        "former = (record and record.released_by) or ''",
        "former = ''",
        story='released-and-gone',
    ),
    Mutant(
        'a list of instances that lacks rows frees nodes',
        _TAKE_OVER,
        'node.uuid, node.instance_uuid\n',
        'node.uuid\n',
        story='list-lacks-instances',
    ),
    Mutant(
        'a death is recorded for a later registration',
        'db/registration.py',
        'if found is None or found.epoch != seen_epoch:',
        'if found is None:',
        story='died-twice',
    ),
    Mutant(
        'services are read after the members',
        'engine/host/snapshot.py',
        '    services, view = read_members(services, ports)\n    return S',
        '    services, view = read_members(services, ports)\n'
        '    services = {s.host: s for s in ports.records.services()}\n'
        '    return S',
        also=(
            (
                _TAKE_OVER,
                '        services, view = read_members(rows, ports)\n',
                _LATE_SERVICES,
            ),
        ),
        story='stale-claim',
    ),
    # Operators.
    Mutant(
        'changes of owner do not read the pauses',
        'db/change_transaction.py',
        'lasting = pauses.current(conn)',
        'lasting = ()',
        story='upgrade-under-a-pause',
    ),
    Mutant(
        'a pause does not exclude the changes of owner that run',
        'db/pauses.py',
        '    _exclude_changes(conn)\n    now = transaction.now_of(conn)\n'
        '    pause = P',
        '    now = transaction.now_of(conn)\n    pause = P',
        story='held-up-under-a-pause',
    ),
    Mutant(
        'a move does not look at the source',
        _MOVE,
        'if service is None or service.forced_down:\n        return None',
        'if True:\n        return None',
        also=(
            (
                'engine/changes/gates.py',
                'return None if running and case.can_be_released else running',
                'return None',
            ),
        ),
        story='moved-back-and-forth',
    ),
    Mutant(
        'a move does not fence the source',
        _MOVE,
        '    _fence(stopped, locked)\n',
        '',
        story='disabled-and-dead',
    ),
    Mutant(
        'an instance stays behind when its node moves',
        _MOVE,
        'if deployed := [uuid for uuid in uuids if uuid in locked.instances]:',
        'if deployed := []:',
        story='moved-back-and-forth',
    ),
    Mutant(
        'a move does not compare the owner',
        _MOVE,
        'if owner != node.source and node.uuid not in locked.released:',
        'if owner is node:',
        story='moved-back-and-forth',
    ),
    Mutant(
        'a deployed node is handed over',
        'db/release_transaction.py',
        'if instance != (node.instance_uuid if hand_over.deployed else None):',
        'if instance is node:',
        story='deployed-during-a-move',
    ),
    # Restarts and trials.
    Mutant(
        'a service that was stopped is not expected back',
        'db/registration.py',
        'away_until=now + grace if grace > 0 else None,',
        'away_until=None,',
        story='stopped-for-an-upgrade',
    ),
    Mutant(
        'a service that was stopped is expected back for ever',
        'db/rows.py',
        'away = row.away_until is not None and row.away_until > row.now',
        'away = row.away_until is not None',
        also=((_CHANGES, '            and self.away_until > now\n', ''),),
        story='stopped-for-an-upgrade',
    ),
    Mutant(
        'a claim does not read that a service is expected back',
        _CHANGES,
        'if owner.is_away(self.now):',
        'if owner is claim:',
        story='stopped-for-an-upgrade',
    ),
    Mutant(
        'a trial is not verified',
        _TRIAL,
        'if not any(differences):',
        'if differences:',
        story='trial-cut-off',
    ),
    Mutant(
        'all nodes move before the trial has a result',
        _TRIAL,
        'done = move([one.of_trial for one in results])',
        'done = move(results)',
        story='trial-cut-off',
    ),
    Mutant(
        'the others follow a trial that has failed',
        'engine/changes/moves.py',
        'if not passed:\n                return results',
        'if passed is None:\n                return results',
        also=(
            (
                _TRIAL,
                "batches([n for n in planned if n.trial != 'back'], _BATCH)",
                'batches([], _BATCH)',
            ),
        ),
        story='trial-cut-off',
    ),
    Mutant(
        'a trial that is resumed is no trial any more',
        'engine/changes/moves.py',
        'has_trial=bool(first),',
        'has_trial=False,',
        story='trial-cut-off',
    ),
    Mutant(
        'a node that was released cannot go back later',
        'db/release_transaction.py',
        "is_released = owner is None and row['released_by'] == node.source",
        'is_released = False',
        story='trial-cut-off',
    ),
    Mutant(
        'nodes that go back are held for a moment only',
        _TRIAL,
        'HOLD = 86400.0',
        'HOLD = 0.0',
        story='trial-cut-off',
    ),
    Mutant(
        'a claim does not read that a node is held',
        _CHANGES,
        '            row, self.now\n        ) or self',
        '            None, self.now\n        ) or self',
        story='trial-cut-off',
    ),
    # Standing orders and reservations.
    Mutant(
        'a service that came back is fenced by its order',
        'engine/changes/standing_orders.py',
        'if row.host in alive and not row.forced_down:',
        'if False:',
        story='no-one-on-call',
    ),
    Mutant(
        'a standing order is due at once',
        _ORDERS,
        'due = {row.host for row in found if row.order_due}',
        'due = {row.host for row in found}',
        also=(
            (
                'engine/changes/standing_orders.py',
                'elif row.order_due:',
                'else:',
            ),
            (
                'engine/changes/case.py',
                'if ordered and not (service and service.order_due):',
                'if ordered and not service:',
            ),
        ),
        story='no-one-on-call',
    ),
    Mutant(
        'a standing order does not read the pauses',
        _ORDERS,
        'lasting = pauses.current(conn)',
        'lasting = ()',
        also=(
            (
                'engine/changes/standing_orders.py',
                'pauses = context.ports.records.pauses()',
                'pauses = ()',
            ),
        ),
        story='no-one-on-call',
    ),
    Mutant(
        'reservations expire under a pause',
        'db/reservation_transaction.py',
        """        record is not None
        and record['host'] is not None
        and p""",
        """        record is None
        and p""",
        story='reservations-expire',
    ),
    # Ironic itself.
    Mutant(
        'the middleware does not compare the epoch',
        f'{_MIDDLEWARE}/decision.py',
        'if service.fenced or service.epoch != claim.epoch:',
        'if service.fenced:',
    ),
    Mutant(
        'the middleware does not compare the owner',
        f'{_MIDDLEWARE}/decision.py',
        'if node.host != claim.service:',
        'if node is claim:',
    ),
    Mutant(
        'the middleware keeps what it has read',
        f'{_MIDDLEWARE}/records.py',
        'rows = database.select(_query(service, uuids, names), tuple)',
        'kept, key = self.__dict__, (service, *uuids)\n'
        '        rows = kept[key] = kept.get(key) or database.select(\n'
        '            _query(service, uuids, names), tuple\n        )',
    ),
    Mutant(
        'the middleware admits what it can not look up',
        f'{_MIDDLEWARE}/application.py',
        'return decision.NO_RECORDS',
        'return None',
        story='database-away',
    ),
    # Deletion, scopes.
    Mutant(
        'a node that is not listed is gone',
        'engine/deletion/missing_nodes.py',
        'node = self._ironic.get(uuid)',
        'node = None',
        also=(
            (
                'engine/deletion/remover.py',
                'if self.ironic.get(uuid) is None:',
                'if uuid:',
            ),
        ),
        story='mass-loss',
    ),
    Mutant(
        'an operator deletes a node that Ironic has',
        'engine/deletion/remover.py',
        'found[gates.NODE_IS_GONE] = self._is_gone(uuid, batch)',
        'found[gates.NODE_IS_GONE] = fact(True, "")',
        story='wrong-node-deleted',
    ),
    Mutant(
        'all nodes are listed',
        'policies/filters.py',
        "model.Scope(shard=str(settings['shard_key']))",
        'model.Scope()',
        story='mass-loss',
    ),
    # Loops.
    Mutant(
        'a wake in the middle of a step is lost',
        'engine/worker.py',
        'self._wanted.clear()\n        try:\n            due_in = self.step()',
        'try:\n            due_in = self.step()\n'
        '            self._wanted.clear()',
    ),
    Mutant(
        'a loop ends with an error',
        'engine/worker.py',
        'self.failures += 1\n            return self.failed(exc)',
        'self._stopping.set()\n            return self.failed(exc)',
        story='settings-stored-late',
    ),
)


def copy(mutant: Mutant | None, directory: pathlib.Path) -> None:
    """Copy product and tests, with a change.

    :raises ValueError: if the text is not there once.
    """
    for name in (PACKAGE, 'ironic_middleware', 'tests'):
        shutil.copytree(
            ROOT / name,
            directory / name,
            ignore=shutil.ignore_patterns('functional'),
        )
    if mutant is not None:
        for name, old, new in mutant.edits:
            path = directory / PACKAGE / name
            text = path.read_text()
            if text.count(old) != 1:
                raise ValueError(f'{mutant.name}: {text.count(old)} times')
            path.write_text(text.replace(old, new))


def hunt(mutant: Mutant | None, *options: str) -> str:
    """Return the output of the schedules that run on a copy.

    In a fork of this process, which has imported all libraries.
    """
    with tempfile.TemporaryDirectory() as directory:
        copy(mutant, pathlib.Path(directory))
        output = pathlib.Path(directory, 'output')
        sys.stdout.flush()
        child = os.fork()
        if not child:
            _run_in(directory, output, options)
        os.waitpid(child, 0)
        return output.read_text()


def _run_in(
    directory: str, output: pathlib.Path, options: tuple[str, ...]
) -> NoReturn:
    with output.open('w') as file:
        sys.stdout = sys.stderr = file
        try:
            for name in list(sys.modules):
                if name.partition('.')[0].startswith((PACKAGE, 'tests')):
                    del sys.modules[name]
            os.chdir(directory)
            sys.path[:0] = [directory, f'{directory}/ironic_middleware']
            importlib.import_module('tests.simulation.__main__').run(options)
        except BaseException:  # noqa: BLE001 - the end of a child
            traceback.print_exc()
    os._exit(0)


def main() -> int:
    """Hunt the mutants that the arguments name; all by default.

    Each in its story, if it has one, then in each story, then in schedules.
    """
    parser = argparse.ArgumentParser(prog='python -m tests.simulation.mutants')
    parser.add_argument('--schedules', type=int, default=200)
    parser.add_argument('--seed', default='1')
    parser.add_argument('names', nargs='*')
    given = parser.parse_args()
    reproducible('tests.simulation.mutants')
    importlib.import_module('tests.simulation.__main__')
    print(f'{"mutant":60} schedules  seconds  found by')
    survivors = 0
    for mutant in MUTANTS:
        if given.names and not any(n in mutant.name for n in given.names):
            continue
        stories = '12' if mutant.story != '*' else '1'
        output = hunt(
            mutant,
            *('--schedules', str(given.schedules), '--seed', given.seed),
            *('--stories', stories, '--story', mutant.story),
            *('--minutes', '30'),
        )
        sums = re.search(
            r'(\d+) schedules, (\d+) violations, ([\d.]+) s', output
        )
        broken = re.search(r'^seed \d+: ([^:]*)', output, re.MULTILINE)
        survivors += broken is None
        law = broken[1] if broken else '-- not found'
        spent = f'{sums[1]:>9} {sums[3]:>8}' if sums else output
        print(f'{mutant.name:60} {spent}  {law}', flush=True)
    print(f'{survivors} survivors')
    return int(survivors > 0)


def reproducible(module: str, *options: str) -> None:
    """Start again without random hashes: sets are walked in their order.

    :param options: of Python, before the module.
    """
    if os.environ.get('PYTHONHASHSEED') != '0':
        os.environ['PYTHONHASHSEED'] = '0'
        given = [*options, '-m', module, *sys.argv[1:]]
        os.execv(sys.executable, [sys.executable, *given])


if __name__ == '__main__':
    sys.exit(main())
