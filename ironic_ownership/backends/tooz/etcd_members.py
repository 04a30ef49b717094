"""The members of a group in etcd: cheap reads, and a watch.

Both use the client that tooz holds. tooz itself reads all members with all
their data each time, which is too much when a thousand members read once a
second; and its watchers only poll.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from tooz import utils

from ironic_ownership.backends.tooz import members

_FEW = 4
"""Up to this many new members are read one by one, more with one range."""

_SPACING = 1.0
"""Least seconds between two reports of a stream: a thousand members that read
after each of a hundred changes are a load."""

# A server that lost its leader would be silent instead of ending the stream.
_REQUIRE_LEADER = {'Grpc-Metadata-hasleader': 'true'}


class MemberReader(members.Reader):
    """Reads the members; one small request while nothing has changed.

    Nothing has changed if etcd's revision is the one last seen and the newest
    key of that time still exists.

    :param client: the client of etcd3gw.
    :param prefix: of the keys; the key that is just the prefix is no member.
    """

    def __init__(
        self, client: Any, prefix: bytes, parse: members.Parse
    ) -> None:
        super().__init__(parse)
        self._client, self._prefix = client, prefix
        # Revision and newest key: of the last list, and of the last one of
        # which all data were read.
        self._listed = self._complete = '', b''

    def read(self) -> Mapping[bytes, members.MemberRecord | None]:
        if self._is_unchanged():
            return self._known
        found = super().read()
        self._complete = self._listed
        return found

    def _is_unchanged(self) -> bool:
        revision, key = self._complete
        if not key:
            return False
        newest = {'key': _encode(key), 'keys_only': True}
        answer = self._client.transaction(
            {'success': [{'request_range': newest}]}
        )
        (response,) = answer['responses']
        return bool(
            # A store that was emptied restarts its revisions, but no key is
            # ever used twice.
            answer['header']['revision'] == revision
            and _rows(response['response_range'])
        )

    def _ids(self) -> set[bytes]:
        answer = self._range(keys_only=True)
        # The next read sees the members that came or left after this answer.
        newest = max(
            _rows(answer), key=lambda r: int(r['mod_revision']), default=None
        )
        self._listed = (
            answer['header']['revision'],
            _key(newest) if newest else b'',
        )
        keys = map(_key, _rows(answer))
        return {key[len(self._prefix) :] for key in keys} - {b''}

    def _data_of(self, ids: set[bytes]) -> dict[bytes, object]:
        if len(ids) > _FEW:
            answers = [self._range()]
        else:
            answers = [self._post(key=_encode(self._prefix + i)) for i in ids]
        return {
            _key(row)[len(self._prefix) :]: _data(row)
            for answer in answers
            for row in _rows(answer)
        }

    def _range(self, **options: object) -> Any:
        return self._post(**_span(self._prefix), **options)

    def _post(self, **request: object) -> Any:
        return self._client.post(
            self._client.get_url('/kv/range'), json=request
        )


def put(coordinator: Any, group: bytes, data: Mapping[str, str]) -> bool:
    """Add a member for as long as its lease; ``False`` without the group."""
    prefix = coordinator._prefix_group(group)
    group_exists = {
        'key': _encode(prefix),
        'result': 'GREATER',
        'target': 'VERSION',
        'version': 0,
    }
    member = {
        'key': _encode(prefix + coordinator._member_id),
        # In the format of tooz.
        'value': _encode(utils.dumps(dict(data))),
        'lease': coordinator._membership_lease.id,
    }
    answer = coordinator.client.transaction(
        {'compare': [group_exists], 'success': [{'request_put': member}]}
    )
    return bool(answer.get('succeeded'))


class ChangeStream:
    """A request that etcd answers with a line for every change.

    :param timeout: seconds until it is accepted, and those without a change
        after which it is opened again: a connection that died silently would
        stay silent.
    :param turn_from: called with a server that should not be used now.
    """

    def __init__(
        self,
        client: Any,
        prefix: bytes,
        *,
        timeout: tuple[float, float],
        turn_from: Callable[[str], None],
    ) -> None:
        self._client = client
        self._turn_from = turn_from
        self._prefix = prefix
        self._timeout = timeout
        self._state = threading.Condition()
        self._thread: threading.Thread | None = None
        self._has_changed = False
        self._not_before = 0.0
        self._error: Exception | None = None

    def wait(self, timeout: float) -> bool:
        """Wait until the members may have changed since the last call."""
        ends = time.monotonic() + timeout
        time.sleep(min(timeout, max(0.0, self._not_before - time.monotonic())))
        with self._state:
            while not self._has_changed:
                if self._error is not None:
                    error, self._error = self._error, None
                    raise error
                if self._thread is None:
                    thread = threading.Thread(
                        target=self._run, name='etcd-changes', daemon=True
                    )
                    thread.start()
                    self._thread = thread
                remaining = ends - time.monotonic()
                if remaining <= 0:
                    return False
                self._state.wait(remaining)
            self._has_changed = False
            self._not_before = time.monotonic() + _SPACING
            return True

    def _run(self) -> None:
        error: Exception | None = None
        try:
            self._listen()
        # Raised by the thread that waits.
        except Exception as exc:  # noqa: BLE001
            error = exc
        with self._state:
            self._thread, self._error = None, error
            self._state.notify_all()

    def _listen(self) -> None:
        request = {'create_request': _span(self._prefix)}
        begun = False
        try:
            with self._client.session.post(
                self._client.get_url('/watch'),
                json=request,
                headers=_REQUIRE_LEADER,
                stream=True,
                timeout=self._timeout,
            ) as response:
                response.raise_for_status()
                for line in response.iter_lines():
                    answer = json.loads(line or '{}')
                    if 'error' in answer:
                        url = urllib.parse.urlsplit(str(response.url))
                        self._turn_from(url.netloc)
                        raise ValueError(f'watch: {line!r}')
                    # The first line reports the start of the watch; earlier
                    # changes are unknown.
                    begun = True
                    with self._state:
                        self._has_changed = True
                        self._state.notify_all()
                    if answer.get('result', {}).get('canceled'):
                        # Too slow for a compaction. The members are read
                        # now, and the next stream begins after that.
                        return
        except OSError as exc:
            # Long silence is no error: the stream is to be opened again.
            if not (begun and 'timed out' in str(exc)):
                raise


def _encode(key: bytes) -> str:
    return base64.b64encode(key).decode('ascii')


def _span(prefix: bytes) -> dict[str, str]:
    """Return the range of all keys with a prefix."""
    # It ends with a slash, so the last byte can grow.
    end = prefix[:-1] + bytes([prefix[-1] + 1])
    return {'key': _encode(prefix), 'range_end': _encode(end)}


def _rows(answer: Any) -> Any:
    return answer.get('kvs', [])


def _key(row: Any) -> bytes:
    return base64.b64decode(row['key'])


def _data(row: Any) -> object:
    try:
        data: object = utils.loads(base64.b64decode(row.get('value', '')))
    # Another program may have written it, and its extensions may be odd.
    except Exception:  # noqa: BLE001
        return None
    return data
