"""Replay of the history: each event must follow from those before it."""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Mapping

from benchmarks.nemesis.observer import Event, Snapshot

Report = Callable[[str, str, Event], None]
"""Called with the law, what is wrong, and the event."""


class History:
    """The state of all nodes and services at one event of the history.

    :param hosts: names of the services; any other actor is an operator.
    :param deleted: when the run deleted a node in Ironic, by its uuid.
    """

    def __init__(
        self,
        hosts: Collection[str],
        deleted: Mapping[str, float],
        report: Report,
    ) -> None:
        self.owner: dict[str, str | None] = {}
        self.instance: dict[str, str] = {}
        self.owned_at: dict[str, list[tuple[float, str | None]]] = (
            collections.defaultdict(list)
        )
        """Changes of owner, by node."""
        self.right_at: dict[str, list[tuple[float, bool]]] = (
            collections.defaultdict(list)
        )
        """Changes of the right to act, by host."""
        self.registrations: collections.Counter[str] = collections.Counter()
        self.known: set[int] = set()
        """Ids of the events so far."""
        self._hosts = frozenset(hosts)
        self._deleted = deleted
        self._report = report
        self._down: set[str] = set()
        self._writer: dict[str, str | None] = {}
        self._follow: Mapping[str, Callable[[Event], None]] = {
            'owner_changed': self._owner_changed,
            'node_moved': self._moved,
            'node_handed_over': self._handed_over,
            'node_forgotten': self._forgotten,
            'instance_opened': self._opened,
            'instance_closed': self._closed,
            'availability_changed': self._owned_by_actor,
            'service_registered': self._registered,
            'service_retired': self._retired,
            'service_fenced': self._fenced,
            'service_failed_over': self._fenced,
            'service_forced_down': self._forced_down,
            'service_changed': self._changed,
            'service_deleted': self._service_deleted,
            'service_died': self._ignored,
            'nodes_taken_over': self._taken_over,
        }

    def follow(self, event: Event) -> None:
        """Take the next event into account."""
        self.known.add(event.id)
        action = self._follow.get(event.kind)
        if action is None:
            self._report('history', f'unknown kind {event.kind}', event)
            return
        if event.actor in self._hosts and event.kind not in (
            'service_registered',
            'service_retired',
        ):
            self._check_writer(event)
        action(event)

    def _ignored(self, event: Event) -> None:
        """Expect nothing of an event but the right of its writer."""

    def _taken_over(self, event: Event) -> None:
        self._check(
            not self.has_right(str(event.source)),
            'law 1',
            f'nodes of {event.source} are taken while it may write',
            event,
        )

    def has_right(self, host: str) -> bool:
        """Tell whether a service may write now."""
        changes = self.right_at[host]
        return bool(changes) and changes[-1][1]

    def compare(self, snapshot: Snapshot) -> list[str]:
        """Return the differences between the history and the records."""
        found = []
        kept = {u: h for u, h in snapshot.owners.items() if h is not None}
        replayed = {u: h for u, h in self.owner.items() if h is not None}
        for uuid in sorted(kept.keys() | replayed.keys()):
            if kept.get(uuid) != replayed.get(uuid):
                found.append(
                    f'node {uuid}: {replayed.get(uuid)} by the history, '
                    f'{kept.get(uuid)} on record'
                )
        instances = {u: i for u, (i, _) in snapshot.instances.items()}
        if instances != self.instance:
            different = sorted(
                set(instances.items()) ^ set(self.instance.items())
            )
            found.append(f'instances differ from the history: {different}')
        return found

    def _check(self, kept: bool, law: str, text: str, event: Event) -> None:
        if not kept:
            self._report(law, text, event)

    def _check_writer(self, event: Event) -> None:
        host = event.actor
        self._check(
            self.has_right(host), 'law 1', f'{host} writes fenced', event
        )
        active = self._writer.get(host)
        self._check(
            event.writer == active,
            'law 1',
            f'written by {event.writer}, while {active} is active',
            event,
        )

    def _set_right(self, event: Event, host: str, right: bool) -> None:
        self.right_at[host].append((event.at, right))

    def _set_owner(self, event: Event, owner: str | None) -> None:
        node = str(event.node)
        self.owner[node] = owner
        self.owned_at[node].append((event.at, owner))

    def _is_owned(self, event: Event, host: str | None) -> None:
        owner = self.owner.get(str(event.node))
        self._check(
            owner == host,
            'law 1',
            f'the owner before was {owner} and not {host}',
            event,
        )

    def _is_free(self, event: Event) -> None:
        instance = self.instance.get(str(event.node))
        self._check(
            instance is None, 'law 2', f'has the instance {instance}', event
        )

    def _owner_changed(self, event: Event) -> None:
        self._is_owned(event, event.source)
        self._is_free(event)
        gains = event.source if event.target is None else event.target
        self._check(
            event.actor == gains and event.source != event.target,
            'law 1',
            'another service releases or claims',
            event,
        )
        if event.source is not None and event.target is not None:
            self._check(
                not self.has_right(event.source),
                'law 1',
                f'taken from {event.source}, which is not fenced',
                event,
            )
        self._set_owner(event, event.target)

    def _moved(self, event: Event) -> None:
        self._is_owned(event, event.source)
        self._check(
            event.target not in (None, event.source),
            'law 7',
            'the move changes nothing',
            event,
        )
        self._check(
            not self.has_right(str(event.source)),
            'law 1',
            f'moved from {event.source}, which is not fenced',
            event,
        )
        self._check(
            self.instance.get(str(event.node)) == event.instance,
            'law 7',
            'the instance stays behind',
            event,
        )
        self._set_owner(event, event.target)

    def _handed_over(self, event: Event) -> None:
        self._is_owned(event, event.source)
        self._is_free(event)
        self._set_owner(event, None)

    def _forgotten(self, event: Event) -> None:
        self._is_owned(event, event.source)
        self._is_free(event)
        deleted = self._deleted.get(str(event.node))
        self._check(
            deleted is not None and deleted <= event.at,
            'law 3',
            'the record was deleted, the node was not',
            event,
        )
        self._set_owner(event, None)

    def _owned_by_actor(self, event: Event) -> None:
        self._is_owned(event, event.actor)

    def _opened(self, event: Event) -> None:
        self._is_owned(event, event.actor)
        node = str(event.node)
        self._check(
            node not in self.instance, 'law 7', 'a second instance', event
        )
        self.instance[node] = str(event.instance)

    def _closed(self, event: Event) -> None:
        self._is_owned(event, event.actor)
        known = self.instance.pop(str(event.node), None)
        self._check(
            known == event.instance, 'law 7', f'{known} was open', event
        )

    def _registered(self, event: Event) -> None:
        host = event.actor
        self.registrations[host] += 1
        self._writer[host] = event.writer
        self._set_right(event, host, host not in self._down)

    def _retired(self, event: Event) -> None:
        host = event.actor
        self._check(
            event.writer == self._writer.get(host),
            'law 1',
            f'retired by {event.writer}',
            event,
        )
        self._set_right(event, host, False)

    def _fenced(self, event: Event) -> None:
        self._set_right(event, str(event.source), False)

    def _service_deleted(self, event: Event) -> None:
        self._check(
            event.source not in self.owner.values(),
            'law 1',
            'a service was deleted that owns nodes',
            event,
        )
        self._down.discard(str(event.source))
        self._set_right(event, str(event.source), False)

    def _forced_down(self, event: Event) -> None:
        self._down.add(str(event.source))
        self._set_right(event, str(event.source), False)

    def _changed(self, event: Event) -> None:
        if (
            'forced_down=False'
            in str(event.reason).partition('disabled_reason=')[0]
        ):
            self._down.discard(str(event.source))
