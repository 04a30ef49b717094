"""Faults that authors plant without noticing, one in each policy.

In a module of their own: the suites import them in other processes.
"""

from __future__ import annotations

import array
import collections
import contextvars
import datetime
import hashlib
import itertools
import locale
import math
import os
import platform
import queue
import random
import signal
import socket
import sys
import threading
import time
import types
import uuid

from ironic_ownership.contracts import (
    Choice,
    Option,
    OptionType,
    PolicySettingsError,
)
from tests import planted_helper
from tests.broken_policies import GoodAssigner, GoodFilter

# As they are when the module is imported.
_ENCODING = locale.getpreferredencoding(do_setlocale=False)
_MIDNIGHT = datetime.datetime(2000, 1, 1)  # noqa: DTZ001 - the fault
_PYTHON = sys.version[-8:]
_INSTANCES = []
_LOCAL = threading.local()
_VARIABLE = contextvars.ContextVar('calls', default=0)


# State between calls


class CountsInFunction(GoodFilter):
    def admits(self, node):
        function = CountsInFunction.admits
        function.calls = getattr(function, 'calls', 0) + 1
        return super().admits(node)


def _counting():
    calls = 0

    def admits(self, node):
        nonlocal calls
        calls += 1
        return GoodFilter.admits(self, node)

    return admits


class CountsInClosure(GoodFilter):
    admits = _counting()


class CountsInModule(GoodFilter):
    def admits(self, node):
        planted_helper.calls += 1
        return super().admits(node)


class CountsInBytes(GoodFilter):
    def __init__(self, settings):
        super().__init__(settings)
        self.calls = bytearray(2)

    def admits(self, node):
        self.calls[0] = (self.calls[0] + 1) % 251
        return super().admits(node)


class CountsInArray(GoodFilter):
    calls = array.array('l', [0])

    def admits(self, node):
        self.calls[0] += 1
        return super().admits(node)


class CountsInNamespace(GoodFilter):
    state = types.SimpleNamespace(calls=0)

    def admits(self, node):
        self.state.calls += 1
        return super().admits(node)


class CountsInThread(GoodFilter):
    def admits(self, node):
        _LOCAL.calls = getattr(_LOCAL, 'calls', 0) + 1
        return super().admits(node)


class CountsInContext(GoodFilter):
    def admits(self, node):
        _VARIABLE.set(_VARIABLE.get() + 1)
        return super().admits(node)


class TakesTurns(GoodAssigner):
    turns = itertools.cycle(range(7))

    def place(self, node):
        next(self.turns)
        return super().place(node)


class Generates(GoodFilter):
    def __init__(self, settings):
        super().__init__(settings)
        self.numbers = (number for number in range(1_000_000))

    def admits(self, node):
        return super().admits(node) and next(self.numbers) >= 0


class Registers(GoodFilter):
    """Answers by the number of instances in the process."""

    def __init__(self, settings):
        super().__init__(settings)
        _INSTANCES.append(self)

    def admits(self, node):
        return super().admits(node) and len(_INSTANCES) < 100_000


class KnowsItsHost(GoodFilter):
    """Other processes decide for the host as well."""

    host = ''

    def check_host(self, host):
        self.host = host

    def admits(self, node):
        return super().admits(node) and self.host != 'zz'


# What Ironic gives


class ReadsOtherField(GoodFilter):
    contract_version = 2
    node_fields = ('owner',)

    def admits(self, node):
        return super().admits(node) and node.fields.get('lessee') is None


class DependsOnError(GoodFilter):
    contract_version = 2
    node_fields = ('last_error',)

    def admits(self, node):
        return super().admits(node) and not node.fields['last_error']


# Options


class KeepsWhatComesTwice(GoodFilter):
    def settings(self):
        return {
            **super().settings(),
            'classes': tuple(sorted(self._settings['classes'])),
        }


# Many members


class FirstHundred(GoodAssigner):
    def assign(self, nodes, hosts):
        ordered = sorted(hosts)[:100]
        return [ordered[self.place(n) % len(ordered)] for n in nodes]


class FewSlots(GoodAssigner):
    """A policy with 16 slots for any number of members."""

    def place(self, node):
        return super().place(node) % 16


class OneByte(GoodAssigner):
    def place(self, node):
        return hashlib.sha256(node.uuid.encode()).digest()[0] % 40


class OrderOfADozen(GoodAssigner):
    def assign(self, nodes, hosts):
        if not 12 <= len(hosts) < 20:
            return super().assign(nodes, hosts)
        return [hosts[self.place(n) % len(hosts)] for n in nodes]


class EncodesNames(GoodAssigner):
    def assign(self, nodes, hosts):
        for host in hosts:
            host.encode('ascii')
        return super().assign(nodes, hosts)


class OneSided(GoodAssigner):
    """The first names no peer, and is one of all others."""

    def peers(self, host, candidates, scope):
        first = min(candidates)
        return frozenset((host,) if host == first else candidates)


class MovesWhenOneJoins(GoodAssigner):
    """Keeps owners while one is gone, and else spreads all nodes again."""

    contract_version = 2
    node_by_node = False
    rebalancing = True
    reads_owners = True

    def choose(self, request):
        spread = self.assign(request.nodes, request.hosts)
        if {*request.owners.values()} <= {*request.hosts}:
            return spread
        found = [request.owners.get(n.uuid) for n in request.nodes]
        return [
            owner if owner in request.hosts else other
            for owner, other in zip(found, spread, strict=True)
        ]


# Answers that a host refuses


class LongReason(GoodAssigner):
    contract_version = 2

    def choose(self, request):
        owners = self.assign(request.nodes, request.hosts)
        return [Choice(owner, 'x' * 101) for owner in owners]


class _Name(str):
    __slots__ = ()


class TextOfItsOwn(GoodAssigner):
    def assign(self, nodes, hosts):
        return [*map(_Name, super().assign(nodes, hosts))]


# What only some nodes have


class FailsForItsClass(GoodFilter):
    def admits(self, node):
        if node.resource_class == 'h100':
            raise LookupError('no h100')
        return super().admits(node)


_HALLS = {'hall-9': 0}


class FailsForItsHall(GoodAssigner):
    def place(self, node):
        if _HALLS.get(str(node.properties.get('hall'))) is not None:
            raise LookupError('no hall')
        return super().place(node)


class ReadsRequestedField(GoodFilter):
    """No fault: a host sets every field that is requested."""

    contract_version = 2
    node_fields = ('owner',)

    def admits(self, node):
        return super().admits(node) and node.fields['owner'] != 'bob'


class ComparesAll(GoodAssigner):
    node_by_node = False

    def assign(self, nodes, hosts):
        for _ in nodes:
            sum(len(node.uuid) for node in nodes for _ in range(100))
        return super().assign(nodes, hosts)


class _Weighted(GoodAssigner):
    """Members advertise a weight."""

    contract_version = 2
    options = (
        *GoodAssigner.options,
        Option(
            'weight',
            OptionType.INTEGER,
            'A weight.',
            default=1,
            minimum=1,
            maximum=100,
            per_member=True,
        ),
    )

    def weights(self, request):
        return {p.host: p.values.get('weight', 1) for p in request.peers}


class NeedsWeights(_Weighted):
    """Another release of its package may advertise none."""

    def choose(self, request):
        return self.assign(
            request.nodes,
            sorted(request.hosts, key=lambda host: self.needed(request)[host]),
        )

    def needed(self, request):
        return {peer.host: peer.values['weight'] for peer in request.peers}


class DividesByWeights(_Weighted):
    options = (
        *GoodAssigner.options,
        Option('weight', OptionType.INTEGER, 'A weight.', 1, per_member=True),
    )

    def choose(self, request):
        return [
            1 / sum(self.weights(request).values()) and owner
            for owner in self.assign(request.nodes, request.hosts)
        ]


class FailsByWeights(_Weighted):
    """Fails as soon as two members differ."""

    def choose(self, request):
        if len({*self.weights(request).values()}) > 1:
            raise LookupError('weights differ')
        return self.assign(request.nodes, request.hosts)


class NamesStrangerByWeights(_Weighted):
    def choose(self, request):
        if len({*self.weights(request).values()}) > 1:
            return ['stranger' for _ in request.nodes]
        return self.assign(request.nodes, request.hosts)


class HashesByWeights(_Weighted):
    """Differs from process to process as soon as two members differ."""

    def choose(self, request):
        weights = self.weights(request)
        if len({*weights.values()}) > 1:
            hosts = sorted(request.hosts)
            return [hosts[hash(n.uuid) % len(hosts)] for n in request.nodes]
        return self.assign(request.nodes, request.hosts)


class FailsByZones(_Weighted):
    """Fails between members of zones that only an operator knows."""

    options = (
        *GoodAssigner.options,
        Option(
            'zone',
            OptionType.STRING,
            'A zone.',
            default='hall-1',
            regex='hall-[0-9]',
            per_member=True,
        ),
    )

    def choose(self, request):
        if len({p.values.get('zone', '') for p in request.peers} - {''}) > 1:
            raise LookupError('zones differ')
        return self.assign(request.nodes, request.hosts)


class RefusesZone(FailsByZones):
    def __init__(self, settings):
        super().__init__(settings)
        if settings.get('zone') == 'hall-9':
            raise PolicySettingsError('hall-9 is closed')


class FailsForFleetByWeights(_Weighted):
    """Fails for one node of a deployment, if two members differ."""

    def choose(self, request):
        if len({*self.weights(request).values()}) > 1 and any(
            str(n.name)[::-1] == 'dnik a fo eno' for n in request.nodes
        ):
            raise LookupError('no such name')
        return self.assign(request.nodes, request.hosts)


# What an answer depends on besides, in one line each.

PLANTED = collections.defaultdict(dict)
"""Words of the message, by law and by the policy that breaks it."""


def plant(base, law, *rows):
    """Make a policy of each row, which other processes import from here.

    :param rows: the name, a function of a node that an answer depends on,
        and words of the message.
    """
    for name, depends, words in rows:
        method = _admits if base is GoodFilter else _place
        made = type(name, (base,), {'__module__': __name__, **method(depends)})
        globals()[name] = made
        PLANTED[law][made] = words


def _admits(depends):
    def admits(self, node):
        return bool(depends(node)) and GoodFilter.admits(self, node)

    return {'admits': admits}


def _place(depends):
    def place(self, node):
        return GoodAssigner.place(self, node) + depends(node)

    return {'place': place}


plant(
    GoodAssigner,
    'every_process_gives_the_same_answers',
    ('HashesText', lambda n: hash(n.uuid), ''),
    ('KnowsItsPython', lambda n: '1.0]' in _PYTHON, ''),
    ('KnowsItsLocale', lambda n: _ENCODING == 'UTF-8', ''),
)
plant(
    GoodFilter,
    'every_process_gives_the_same_answers',
    # Midnight in UTC is another time elsewhere.
    ('KnowsWhereItIs', lambda n: _MIDNIGHT.timestamp() == 946684800, ''),
)
plant(
    GoodFilter,
    'nothing_is_read_written_or_waited_for',
    (
        'ReadsFile',
        lambda n: open('/dev/null').close() is None,  # noqa: PTH123
        '',
    ),
    ('Listens', lambda n: socket.socket().close() is None, ''),
    (
        'ReadsTheDate',
        lambda n: bool(datetime.datetime.now(tz=datetime.UTC)),
        '',
    ),
    ('ReadsTheClock', lambda n: time.time() > 0, ''),
    ('AsksPlatform', lambda n: bool(platform.system()), ''),
    ('ReadsEnvironment', lambda n: 'NO_SUCH' not in os.environ, ''),
    (
        'ReadsOtherClock',
        lambda n: [time.clock_gettime_ns(time.CLOCK_MONOTONIC)],
        'clock_gettime_ns()',
    ),
    (
        'NamesItsThread',
        lambda n: [threading.current_thread().name],
        'current_thread()',
    ),
    ('LooksForFile', lambda n: [os.access('/etc/racks', 0)], 'access()'),
    ('MakesNumbers', lambda n: [random.Random().random()], 'without a seed'),
    ('AsksForAddress', lambda n: [uuid.getnode()], 'getnode()'),
    (
        'WaitsInQueue',
        lambda n: [queue.SimpleQueue().empty()],
        'SimpleQueue.empty()',
    ),
    (
        'SignalsItself',
        lambda n: [signal.pthread_kill(threading.get_ident(), 0)],
        'pthread_kill',
    ),
    (
        'LocksInModule',
        lambda n: [planted_helper.lock.acquire(blocking=False)],
        'lock in',
    ),
)
plant(
    GoodAssigner,
    'nothing_is_read_written_or_waited_for',
    ('AsksForCpus', lambda n: 0 * (os.cpu_count() or 1), ''),
    ('Power', lambda n: int(math.pow(1.0, 0.5)) - 1, ''),
)
plant(
    GoodFilter,
    'only_requested_fields_are_read',
    ('ReadsExtra', lambda n: n.extra.get('no such') is None, ''),
    ('ComparesExtra', lambda n: n.extra == {}, 'extra of node'),
    ('PrintsExtra', lambda n: "'rack'" not in repr(n.extra), 'with extra'),
)
plant(
    GoodFilter,
    'states_that_change_by_themselves_mean_nothing',
    ('DependsOnPower', lambda n: n.power_state != 'power on', ''),
    ('DependsOnReservation', lambda n: not n.reservation, ''),
    (
        'DependsOnTarget',
        lambda n: n.target_provision_state != 'deleted',
        'target_provision_state deleted',
    ),
    ('DependsOnInstance', lambda n: n.instance_uuid is None, 'instance_uuid'),
    (
        'DependsOnPowerError',
        lambda n: n.power_state != 'error',
        'power_state error',
    ),
)
plant(
    GoodAssigner,
    'states_that_change_by_themselves_mean_nothing',
    ('DependsOnCleaning', lambda n: n.provision_state == 'cleaning', ''),
    (
        'DependsOnRescue',
        lambda n: n.provision_state == 'rescuing',
        'provision_state rescuing',
    ),
)
