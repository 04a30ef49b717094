"""One schedule: a storm of faults, then the time in which all has to be well.

The seed decides everything; the plan, which follows from it, may be cut down.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import hashlib
import json
import pathlib
import random
from collections.abc import Sequence

from tooz import hashring

from ironic_ownership.contracts import model
from tests.simulation import faults, threads
from tests.simulation.checker import Checker, ViolationError
from tests.simulation.deployment import (
    Command,
    ServiceProcess,
    Site,
    Times,
)
from tests.simulation.faults import Planned
from tests.simulation.loop import Loop, SpinningError
from tests.unit.engine import world


@dataclasses.dataclass(frozen=True)
class Plan:
    """A deployment, and what happens in it.

    :param seed: of everything that the plan leaves open.
    :param churns: whether nodes get and lose instances all the time.
    :param storm: time in which faults begin, in heartbeats.
    :param grace: for which a service that was stopped is expected back, in
        heartbeats.
    :param absent: the service that does not return when the faults end.
    """

    seed: int
    policy: str
    hosts: tuple[str, ...]
    standbys: tuple[str, ...]
    nodes: int
    in_database: bool
    clustered: bool
    full_refresh: float
    slowness: float
    refreshes: float
    churns: bool
    storm: float
    faults: tuple[Planned, ...]
    grace: float = 0.0
    absent: str = ''

    @classmethod
    def of(cls, seed: int) -> Plan:
        """Return the plan of a seed."""
        rng = random.Random(f'plan {seed}')
        storm = rng.uniform(4, 16)
        every = sorted([*faults.ALL, *faults.OFTEN, *faults.OFTEN])
        kinds = rng.sample(every, rng.choice((2, 4, 8, 16)))
        times = sorted(rng.uniform(2, storm) for _ in range(rng.randint(2, 8)))
        hosts = ('ha', 'hb', 'hc', 'hd')[: rng.choice((2, 2, 3, 3, 4))]
        return cls(
            seed,
            rng.choice(('ring', 'ring', 'shards', 'pool')),
            hosts,
            hosts[: rng.choice((0, 0, 1, 1, 2))],
            rng.randint(2, 7),
            rng.random() < 0.4,
            rng.random() < 0.3,
            rng.choice((0.0, 0.0, 300.0)),
            rng.choice((0.004, 0.05, 0.3, 1.0)),
            rng.choice((2, 3, 6)),
            rng.random() < 0.8,
            storm,
            tuple(
                Planned(at, rng.choice(kinds), rng.expovariate(1 / 5))
                for at in times
            ),
            rng.choice((0, 0, 2, 6, 12)),
            rng.choice(hosts) if rng.random() < 0.2 else '',
        )


@dataclasses.dataclass
class Result:
    """The sums of some schedules.

    :ivar answers: of the middleware, and what it admitted.
    :ivar calls: of servers, by the name of the step.
    """

    schedules: int = 0
    service_seconds: float = 0.0
    steps: int = 0
    commits: int = 0
    events: int = 0
    acts: int = 0
    slowest: float = 0.0
    digest: str = ''
    answers: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    calls: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    histories: pathlib.Path | None = None
    faults: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    pairs: collections.Counter[tuple[str, str]] = dataclasses.field(
        default_factory=collections.Counter
    )


class Schedule:
    """One schedule, from its plan.

    :param sums: to which it is added.
    """

    def __init__(self, plan: Plan, times: Times, sums: Result) -> None:
        self.plan, self.sums = plan, sums
        self.times = dataclasses.replace(
            times, refreshes=plan.refreshes, graces=plan.grace
        )
        self.loop = Loop(plan.seed)
        self.checker = Checker()
        self.undos: list[faults.Undo] = []

    def run(self) -> None:
        """Run it.

        :raises ViolationError: for the first broken law.
        """
        with threads.running(self.loop):
            try:
                self._run()
            except SpinningError as exc:
                self.checker.violate(
                    'liveness', f'a loop without a wait: {exc}'
                )
            finally:
                self._count()
                self.loop.end()
        if self.checker.broken is not None:
            raise self.checker.broken

    def _run(self) -> None:
        self.site = site = self._site()
        for machine in site.hosts:
            site.start(machine)
        heartbeat = self.times.heartbeat
        if self.plan.churns:
            self.loop.spawn(self.loop.world, 'churn', self._churn, heartbeat)
        for planned in self.plan.faults:
            self._until(planned.at * heartbeat)
            self._begin(planned)
        self._until(self.plan.storm * heartbeat)
        self._calm()
        self._converge()

    def _site(self) -> Site:
        plan = self.plan
        expiry = {'expiry': int(2 * self.times.ttl)}
        pool = model.PolicySettings.of('reservation', expiry)
        policies = {
            host: {
                'ring': world.runs(peer_list=()),
                'shards': world.runs(shard_key='abcd'[number]),
                'pool': model.MemberSettings((pool,)),
            }[plan.policy]
            for number, host in enumerate(plan.hosts)
        }
        nodes = [
            world.node(
                number,
                driver='fake',
                shard='abcd'[number % len(plan.hosts)],
                resource_class='baremetal',
                provision_state='available',
                power_state='power off',
                instance_uuid=world.uuid(900 + number)
                if number % 3 == 0
                else None,
            )
            for number in range(1, plan.nodes + 1)
        ]
        return Site(
            self.loop,
            self.checker,
            policies,
            plan.standbys,
            nodes,
            times=self.times,
            in_database=plan.in_database,
            clustered=plan.clustered,
            full_refresh=plan.full_refresh,
            slowness=plan.slowness,
        )

    def _until(self, at: float) -> None:
        self.loop.run(at, lambda: self.checker.broken is not None)

    def _churn(self) -> None:
        """Let nodes get and lose instances until the end of the storm."""
        heartbeat = self.times.heartbeat
        while self.loop.now < (self.plan.storm + 2) * heartbeat:
            self.site.named = []
            kinds = [faults.deploy, faults.undeploy]
            if self.checker.reserves:
                kinds += [faults.reserve] * 2
            with contextlib.suppress(LookupError):
                undo = self.loop.rng.choice(kinds)(self.site)
                self._end(undo, self.loop.rng.uniform(1, 8))
            self.loop.give_way(self.loop.rng.uniform(0.3, 3) * heartbeat)

    def _begin(self, planned: Planned) -> None:
        self.site.named = list(planned.named)
        lasts = planned.lasts * self.times.heartbeat
        self.site.lasts = lasts if planned.named else 0.0
        try:
            undo = faults.ALL[planned.kind](self.site)
        except (LookupError, ValueError):
            return
        self.sums.faults[planned.kind] += 1
        self._end(undo, planned.lasts)

    def _end(self, undo: faults.Undo, beats: float) -> None:
        """End a fault after some heartbeats, or when all faults end."""
        done: list[bool] = []

        def end() -> None:
            if not done:
                done.append(True)
                undo()

        self.undos.append(end)
        seconds = beats * self.times.heartbeat
        self.loop.spawn(self.loop.world, 'end of a fault', end, seconds)

    def _calm(self) -> None:
        """End every fault, and let every process run."""
        site = self.site
        self.checker.tell('all faults end')
        for undo in self.undos:
            undo()
        for process in self.loop.processes:
            process.countdown = 0
            process.frozen_until = 0.0
        for machine, host in site.hosts.items():
            one = site.machines.get(machine)
            if host == self.plan.absent:
                self._dismiss(one)
                continue
            if one is not None and (one.is_stopping or one.main.ended):
                site.kill(machine)
            if machine not in site.machines:
                site.start(machine)
        # A command that was late must not have the last word.
        until = self.loop.now + 60 + 2 * self.times.ttl
        self.loop.run(until, lambda: not self._commands())
        for host in site.policies:
            site.order(
                'service:set',
                path={'host': host},
                body={'forced_down': False, 'disabled': False},
            )
        site.order('pause:end')

    def _dismiss(self, one: ServiceProcess | None) -> None:
        """Stop a process that does not return."""
        if one is None:
            return
        self.checker.tell(f'{one.name} is stopped, and does not return')
        if one.built is None:
            self.site.kill(one.name)
        elif not one.is_stopping:
            one.stop()

    def _resume(self) -> None:
        """Let an operator resume the trials that were cut off."""
        for request_id in self.checker.trials.unfinished():
            self.site.order(
                'move:resume',
                path={'request_id': request_id},
                body={'skip_invalid': True},
            )

    def _commands(self) -> bool:
        """Tell whether a command runs, or the run is not over anyhow."""
        return self.checker.broken is None and any(
            one.tasks and not one.is_dead
            for one in self.loop.processes
            if isinstance(one, Command)
        )

    def _converge(self) -> None:
        heartbeat = self.times.heartbeat
        began = self.loop.now
        longest = 60 + 4 * self.times.ttl + 8 * self.times.refresh
        longest += self.times.grace
        missing = ['']
        while missing and self.loop.now < began + longest:
            if not self._commands():
                self._resume()
            self._until(self.loop.now + heartbeat / 2)
            if self.checker.broken is not None:
                return
            missing = self._missing()
        self.sums.slowest = max(self.sums.slowest, self.loop.now - began)
        if missing:
            self.checker.violate(
                'liveness',
                f'{longest:.0f} s after the last fault: {"; ".join(missing)}',
            )

    def _missing(self) -> list[str]:
        """Return what is not as it should be."""
        return [
            *self._not_serving(),
            *(
                f'{host} has other settings on record'
                for host in self._outdated()
                if host != self.plan.absent
            ),
            *self._strays(),
            *self._unfinished(),
        ]

    def _not_serving(self) -> list[str]:
        """Return the threads, processes and services that do not work."""
        site, rows = self.site, self.checker.rows
        found = [
            f'{task.process.name}: thread {task.name} ended: {error!r}'
            for task, error in self.loop.errors
            if not task.process.is_dead
        ]
        for name, one in site.machines.items():
            if one.host == self.plan.absent:
                if not one.main.ended:
                    found.append(f'{name} has not ended')
                continue
            if one.built is None or one.main.ended:
                found.append(f'{name} has ended')
                continue
            found += [
                f'{name}: {loop} has ended'
                for loop in one.built.scheduler.dead
            ]
        for host in self._serving:
            row = rows.services.get(host)
            active = [
                one
                for one in site.machines.values()
                if one.host == host
                and row is not None
                and one.incarnation == row.incarnation
                and one.may_act
            ]
            if not active or row is None or row.fenced:
                found.append(f'no process of {host} may act')
        return found

    @property
    def _serving(self) -> list[str]:
        return [host for host in self.plan.hosts if host != self.plan.absent]

    def _outdated(self) -> list[str]:
        """Return the services whose row differs from their configuration."""
        stored = self.site.database.query(
            'SELECT host, settings FROM services'
        )
        return [
            host
            for host, settings in sorted(stored)
            if settings != self.site.tuning(host).advertised.to_json()
        ]

    def _unfinished(self) -> list[str]:
        """Return trials, and reservations unlike what Ironic holds.

        Those of a service that does not return wait for it, or an operator.
        """
        site, absent = self.site, self.plan.absent
        opened = site.database.query(
            'SELECT instance_uuid, node_uuid, state, host FROM reservations '
            "WHERE state <> 'closed'"
        ).fetchall()
        # Ironic keeps the name of the first service when a node has moved.
        hosts = {instance: host for instance, *_, host in opened}
        held = {
            (one.instance_uuid, one.node_uuid, 'active')
            for host in site.policies
            for one in site.allocations.mine(host)
            if hosts.get(one.instance_uuid, host) != absent
        }
        settled = {tuple(rest) for *rest, host in opened if host != absent}
        return [
            *(
                f'the trial of {request_id} has no result'
                for request_id in self.checker.trials.unfinished()
            ),
            *(
                f'on record or in Ironic only: {one}'
                for one in sorted(settled ^ held, key=str)
            ),
        ]

    def _strays(self) -> list[str]:
        """Return the nodes whose record is not as it should be."""
        site, rows, found = self.site, self.checker.rows, []
        for uuid, one in sorted(site.bare_metal.nodes.items()):
            owner = rows.owners.get(uuid)
            wanted = self._owners(one, owner)
            if owner not in wanted:
                found.append(
                    f'node {uuid[-4:]} belongs to {owner}, not {wanted}'
                )
            instance = rows.instances.get(uuid, (None, None))[0]
            if (
                owner not in (None, self.plan.absent)
                and instance != one.instance_uuid
            ):
                found.append(f'node {uuid[-4:]} has {instance} on record')
        gone = rows.owners.keys() - site.bare_metal.nodes.keys()
        if len(gone) > 3:
            gone = set()  # a mass loss, which waits for an operator
        found += [
            f'node {uuid[-4:]} is gone, and has a record'
            for uuid in sorted(gone)
            if uuid not in rows.instances
            and rows.owners[uuid] != self.plan.absent
        ]
        return found

    def _owners(
        self, node: model.Node, owner: str | None
    ) -> Sequence[str | None]:
        """Return who may own a node in the end."""
        hosts = self.plan.hosts
        deployed = (
            node.instance_uuid or node.uuid in self.checker.rows.instances
        )
        if deployed and owner is not None:
            return hosts
        if deployed and self.plan.absent == self.checker.released.get(
            node.uuid
        ):
            # No other may adopt it: it waits for an operator.
            return [None]
        if self.plan.policy == 'ring':
            ring = hashring.HashRing(self._serving, hash_function='md5')
            (found,) = ring.get_nodes(node.uuid.encode())
            if owner == self.plan.absent and owner in self._outdated():
                # Others are no peers of it: its nodes wait for an operator.
                return [owner, found]
            return [found]
        if self.plan.policy == 'pool':
            # A node is owned with an instance only.
            return [*hosts, None] if node.instance_uuid else [None]
        # An owner under an exclusive policy keeps the node.
        if owner is not None:
            return hosts
        shards = dict(zip('abcd', hosts, strict=False))
        wanted = shards.get(str(node.shard))
        return [None if wanted == self.plan.absent else wanted]

    def _count(self) -> None:
        sums, checker = self.sums, self.checker
        sums.schedules += 1
        sums.service_seconds += self.loop.now * len(self.plan.hosts)
        sums.steps += self.loop.steps
        sums.events += checker.events
        sums.acts += checker.acts_seen
        if hasattr(self, 'site'):
            text = '\n'.join([sums.digest, *checker.lines])
            sums.digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            sums.commits += self.site.database.commits
            sums.pairs += self.site.pairs
            sums.answers += self.site.enforced.answers
            for server in self.site.servers:
                sums.calls += server.steps
            self._record()

    def _record(self) -> None:
        """Write the history, unless the model has no such one.

        The records went back in time, nodes were reserved, or those of a
        trial went back with their instances.
        """
        kinds = {planned.kind for planned in self.plan.faults}
        if (
            self.sums.histories is not None
            and not kinds & {'restore', 'trial'}
            and self.plan.policy != 'pool'
        ):
            path = self.sums.histories / f'{self.plan.seed}.jsonl'
            lines = map(json.dumps, self.checker.history)
            path.write_text(''.join(f'{line}\n' for line in lines))


def violation(plan: Plan, times: Times, sums: Result) -> ViolationError | None:
    """Run a schedule; return the law that it breaks."""
    try:
        Schedule(plan, times, sums).run()
    except ViolationError as exc:
        return exc
    return None


def minimised(plan: Plan, times: Times, law: str) -> Plan:
    """Drop faults as long as the same law is broken."""
    number = 0
    while number < len(plan.faults):
        fewer = dataclasses.replace(
            plan, faults=plan.faults[:number] + plan.faults[number + 1 :]
        )
        found = violation(fewer, times, Result())
        if found is not None and found.law == law:
            plan = fewer
        else:
            number += 1
    return plan
