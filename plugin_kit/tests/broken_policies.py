"""Policies that break one law each, and some that break none.

In a module of their own: the suites import them in other processes.
"""

from __future__ import annotations

import os
import pathlib
import time
import uuid

from ironic_ownership.contracts import (
    AssignerPolicy,
    FilterPolicy,
    Option,
    OptionType,
    PolicySettingsError,
    Scope,
    as_map,
)


class GoodFilter(FilterPolicy):
    contract_version = 1
    options = (
        Option('classes', OptionType.LIST, 'Resource classes.', default=()),
        Option('group', OptionType.STRING, 'A group.', default='g1'),
    )

    def settings(self):
        return {
            'classes': tuple(sorted({*self._settings['classes']})),
            'group': self._settings['group'],
        }

    def scope(self):
        return Scope(conductor_group=self._settings['group'])

    def admits(self, node):
        classes = self._settings['classes']
        return node.conductor_group == self._settings['group'] and (
            not classes or node.resource_class in classes
        )


class GoodAssigner(AssignerPolicy):
    """Spreads by the number in the uuid: nothing of it is random."""

    contract_version = 1
    node_by_node = True
    options = (Option('salt', OptionType.INTEGER, 'A number.', default=0),)

    def place(self, node):
        return uuid.UUID(node.uuid).int + self._settings['salt']

    def assign(self, nodes, hosts):
        ordered = sorted(hosts)
        return [ordered[self.place(n) % len(ordered)] for n in nodes]


class ReadsMap(FilterPolicy):
    """Relies on what the host refuses: a map is one, a pair has a colon."""

    contract_version = 2
    options = (
        Option('racks', OptionType.MAP, 'Halls of racks.', default=()),
        Option(
            'pair',
            OptionType.STRING,
            'A rack and its hall.',
            default='rack1:a',
            check=lambda text: None if ':' in text else 'no colon',
        ),
    )

    def admits(self, node):
        rack, hall = self._settings['pair'].split(':')
        halls = {rack: hall} | as_map(self._settings['racks'])
        return node.properties.get('rack') in [*halls]


class WeighsByMap(GoodAssigner):
    """Each member advertises a map for itself."""

    contract_version = 2
    options = (
        *GoodAssigner.options,
        Option(
            *('halls', OptionType.MAP, 'Halls.', ()),
            per_member=True,
        ),
    )

    def choose(self, request):
        for peer in request.peers:
            as_map(peer.values.get('halls', ()))
        return self.assign(request.nodes, request.hosts)


class ImportsLate(GoodFilter):
    """Files that Python reads for an import do not count."""

    def admits(self, node):
        import colorsys

        return bool(colorsys) and super().admits(node)


class AsksForExtra(GoodFilter):
    node_fields = ('extra',)


# Of any policy


class NewerContract(GoodFilter):
    contract_version = 99


class NoHelp(GoodFilter):
    options = (*GoodFilter.options, Option('dumb', OptionType.STRING, ' '))

    def settings(self):
        return {**super().settings(), 'dumb': self._settings['dumb']}


class TellsSecret(GoodFilter):
    options = (
        *GoodFilter.options,
        Option('word', OptionType.STRING, 'A secret.', 'x', secret=True),
    )

    def settings(self):
        return {**super().settings(), 'word': 'x'}


class TellsSecretByAnotherName(GoodFilter):
    options = (
        *GoodFilter.options,
        Option('word', OptionType.STRING, 'A secret.', secret=True),
    )

    def settings(self):
        return {
            **super().settings(),
            'by': f'with {self._settings.get("word")}',
        }


class AdvertisesTooMuch(GoodFilter):
    def settings(self):
        return {**super().settings(), 'padding': 'x' * 70_000}


class AdvertisesObjects(GoodFilter):
    def settings(self):
        return {**super().settings(), 'home': pathlib.PurePath('/')}


class AdvertisesLess(GoodFilter):
    """Built from its settings it is another policy."""

    def __init__(self, settings):
        super().__init__({'classes': (), **settings})

    def settings(self):
        return {'group': self._settings['group']}


class AdvertisesRaw(GoodFilter):
    """Each time it is built from its settings they become others."""

    def settings(self):
        return {**super().settings(), 'group': self._settings['group'] + ' '}

    def admits(self, node):
        return node.conductor_group == 'g1' == self._settings['group'].strip()

    def scope(self):
        return Scope(conductor_group='g1')


class RemarksText(GoodFilter):
    def remarks(self):
        return 'one line'


class RefusesWithoutWords(GoodFilter):
    def check_host(self, host):
        raise PolicySettingsError('')


class AssumesTypes(GoodFilter):
    def admits(self, node):
        rack = node.properties.get('rack', '')
        return super().admits(node) and not rack.startswith('x')


class Remembers(GoodAssigner):
    """Chooses the same host again indefinitely."""

    def __init__(self, settings):
        super().__init__(settings)
        self.chosen = {}

    def assign(self, nodes, hosts):
        owners = super().assign(nodes, hosts)
        return [
            self.chosen.setdefault(n.uuid, owner)
            if self.chosen.get(n.uuid, owner) in hosts
            else owner
            for n, owner in zip(nodes, owners, strict=True)
        ]


class RoundRobin(GoodAssigner):
    node_by_node = False

    def assign(self, nodes, hosts):
        ordered = sorted(hosts)
        return [ordered[n % len(ordered)] for n in range(len(nodes))]


class ChangesNodes(GoodFilter):
    def admits(self, node):
        node.properties['seen'] = True
        return super().admits(node)


class ChangesSettings(GoodFilter):
    def __init__(self, settings):
        settings['group'] = settings['group'].lower()
        super().__init__(settings)
        settings['built'] = True


class OrdersByHash(GoodAssigner):
    def assign(self, nodes, hosts):
        ordered = sorted(hosts, key=hash)
        return [ordered[self.place(n) % len(ordered)] for n in nodes]


class SharesState(GoodAssigner):
    """Keeps the current nodes in the instance during a call."""

    def assign(self, nodes, hosts):
        self.nodes = nodes
        answers = super().assign(nodes, hosts)
        kept, self.nodes = self.nodes, None
        return answers if kept is nodes else [None] * len(nodes)


class ReadsFileOnce(GoodFilter):
    racks = None

    def admits(self, node):
        if ReadsFileOnce.racks is None:
            ReadsFileOnce.racks = pathlib.Path('/dev/null').read_text()
        return super().admits(node)


class Sleeps(GoodFilter):
    def __init__(self, settings):
        super().__init__(settings)
        time.sleep(0.001)


class Runs(GoodAssigner):
    def peers(self, host, candidates, scope):
        os.system('true')
        return super().peers(host, candidates, scope)


# Of filters


class AnswersNothing(GoodFilter):
    def admits(self, node):
        return super().admits(node) or None


class ScopeOfText(GoodFilter):
    def scope(self):
        return _Text()


class _Text(str):
    """A text with the attributes of a scope."""

    __slots__ = ()
    shard = None
    conductor_group = None

    def matches(self, shard, conductor_group):
        return True


class ScopeWanders(GoodFilter):
    def __init__(self, settings):
        super().__init__(settings)
        self.asked = False

    def admits(self, node):
        self.asked = True
        return node.conductor_group == 'g1' and node.shard == 'a'

    def scope(self):
        return Scope('a' if self.asked else None, 'g1')


class AdmitsOutOfScope(GoodFilter):
    def admits(self, node):
        return True


# Of assigners


class NamesStranger(GoodAssigner):
    def assign(self, nodes, hosts):
        return ['stranger' for _ in nodes]


class NamesDead(GoodAssigner):
    """Chooses among the hosts of the test, alive or not."""

    def assign(self, nodes, hosts):
        return ['host2' for _ in nodes]


class AnswersLess(GoodAssigner):
    """Leaves out those in maintenance."""

    def assign(self, nodes, hosts):
        return super().assign(
            [n for n in nodes if not n.name or 'node-7' not in n.name], hosts
        )


class FirstMember(GoodAssigner):
    def assign(self, nodes, hosts):
        return [hosts[0] for _ in nodes]


class FirstCandidate(GoodAssigner):
    def peers(self, host, candidates, scope):
        return frozenset((host, candidates[0]))


class PeersList(GoodAssigner):
    def peers(self, host, candidates, scope):
        return sorted(candidates)


class PeersWithoutSelf(GoodAssigner):
    def peers(self, host, candidates, scope):
        return frozenset(candidates) - {host} | {'other'}


class Balances(GoodAssigner):
    """Needs all nodes to balance the members, and does not declare it."""

    def assign(self, nodes, hosts):
        ordered = sorted(hosts)
        places = {
            node.uuid: number
            for number, node in enumerate(
                sorted(nodes, key=lambda node: node.uuid)
            )
        }
        return [ordered[places[n.uuid] % len(ordered)] for n in nodes]


class MovesAll(GoodAssigner):
    """Moves nearly all nodes, by remainders."""

    rebalancing = True


class MovesMoreThanDeclared(MovesAll):
    extra_movement = 0.1


class MovesAsDeclared(MovesAll):
    extra_movement = 1.0


class NeverSettles(GoodAssigner):
    """Moves each node on from where it is."""

    contract_version = 2
    node_by_node = False
    reads_owners = True

    def choose(self, request):
        hosts = sorted(request.hosts)
        return [
            hosts[(hosts.index(owner) + 1) % len(hosts)]
            if owner in hosts
            else hosts[0]
            for owner in (request.owners.get(n.uuid) for n in request.nodes)
        ]


class SharesOfFew(GoodAssigner):
    """Expects shares of the first member only."""

    contract_version = 2

    def shares(self, peers):
        return {peers[0].host: 1}
