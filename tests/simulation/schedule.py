"""One schedule: a storm of faults, then the time in which all has to be well.

The seed decides everything; the plan, which follows from it, may be cut down.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json

from ironic_ownership.contracts import model
from tests.simulation import threads
from tests.simulation.checks.checker import Checker
from tests.simulation.checks.law import ViolationError
from tests.simulation.deployment import Command, ServiceProcess, Site
from tests.simulation.faults import changes, commands, kinds
from tests.simulation.faults.kinds import Planned
from tests.simulation.faults.targets import Undo
from tests.simulation.liveness import Liveness
from tests.simulation.loop import Loop, SpinningError
from tests.simulation.plan import Plan
from tests.simulation.result import Result
from tests.simulation.times import Times
from tests.unit.engine import world


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
        self.undos: list[Undo] = []

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
                'all': world.ALL,
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
            changed = [changes.deploy, changes.undeploy]
            if self.checker.reserves:
                changed += [commands.reserve] * 2
            with contextlib.suppress(LookupError):
                undo = self.loop.rng.choice(changed)(self.site)
                self._end(undo, self.loop.rng.uniform(1, 8))
            self.loop.give_way(self.loop.rng.uniform(0.3, 3) * heartbeat)

    def _begin(self, planned: Planned) -> None:
        self.site.named = list(planned.named)
        lasts = planned.lasts * self.times.heartbeat
        self.site.lasts = lasts if planned.named else 0.0
        try:
            undo = kinds.ALL[planned.kind](self.site)
        except (LookupError, ValueError):
            return
        self.sums.faults[planned.kind] += 1
        self._end(undo, planned.lasts)

    def _end(self, undo: Undo | None, beats: float) -> None:
        """End a fault after some heartbeats, or when all faults end."""
        done: list[bool] = []

        def end() -> None:
            if undo is not None and not done:
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
        for request_id in self.checker.rows.unfinished_trials():
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
        liveness = Liveness(self.plan, self.site, self.checker)
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
            missing = liveness.missing()
        self.sums.slowest = max(self.sums.slowest, self.loop.now - began)
        if missing:
            self.checker.violate(
                'liveness',
                f'{longest:.0f} s after the last fault: {"; ".join(missing)}',
            )

    def _count(self) -> None:
        sums, checker = self.sums, self.checker
        sums.schedules += 1
        sums.service_seconds += self.loop.now * len(self.plan.hosts)
        sums.steps += self.loop.steps
        sums.events += checker.events
        sums.acts += checker.permissions.acts
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
        faults = {planned.kind for planned in self.plan.faults}
        if (
            self.sums.histories is not None
            and not faults & {'restore', 'trial'}
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
