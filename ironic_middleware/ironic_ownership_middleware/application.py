"""The middleware: a WSGI application around that of Ironic's API."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any

# Ironic calls the middleware with its application, and nothing else.
from oslo_config import cfg
from oslo_log import log

from ironic_ownership.contracts import exceptions, request_header, texts
from ironic_ownership.contracts.request_header import Claim
from ironic_ownership_middleware import (
    credentials,
    decision,
    options,
    resources,
)
from ironic_ownership_middleware.decision import Refusal
from ironic_ownership_middleware.records import Records

LOG = log.getLogger(__name__)

_HEADER = 'HTTP_' + request_header.HEADER.upper().replace('-', '_')

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


# Without the keys in a text of it.
@dataclasses.dataclass(eq=False, repr=False)
class Ownership:
    """Refuses changing requests of services that do not own the node.

    Threading: any thread.

    :param application: of Ironic.
    :param keys: each of them may have signed a request.
    :param lifetime: of a signature, in seconds.
    :param without_header: returns why a request without one is refused.
    :param admits_without_records: what happens when they do not answer.
    :param count: receives the name of each counter to raise.
    :param clock: seconds since 1970.
    """

    application: Application
    records: Records
    keys: Sequence[str]
    _: dataclasses.KW_ONLY
    lifetime: float = 60.0
    without_header: credentials.Rule = dataclasses.field(
        default=lambda _: None
    )
    admits_without_records: bool = False
    count: Callable[[str], None] = dataclasses.field(default=lambda _: None)
    clock: Callable[[], float] = time.time

    def __call__(
        self, environ: dict[str, Any], start_response: Any
    ) -> Iterable[bytes]:
        """Answer one request, or hand it on to Ironic."""
        method = environ['REQUEST_METHOD']
        raw = environ.get('PATH_INFO', '').encode('latin-1')
        path = raw.decode('utf-8', 'replace')
        query = environ.get('QUERY_STRING', '')
        idents = resources.change(method, path, query)
        refusal = None
        if idents is not None:
            refusal = self._refusal(environ, method, path, idents)
        if refusal is None:
            return self.application(environ, start_response)
        # Each service probes again and again.
        if refusal is not decision.PROBED:
            LOG.warning(
                '%s %s is refused: %s: %s',
                texts.printable(method),
                texts.printable(path),
                refusal.code,
                texts.printable(refusal.message),
            )
            self.count(f'refused.{refusal.code}')
        return _answer(refusal, start_response)

    def _refusal(
        self,
        environ: dict[str, Any],
        method: str,
        path: str,
        idents: resources.Idents,
    ) -> Refusal | None:
        value = environ.get(_HEADER)
        if value is None:
            return self.without_header(environ)
        claim = self._claim(value, method, path)
        if claim is None:
            return decision.BAD_HEADER
        if claim.node:
            idents |= {claim.node}
        uuids, names = resources.as_recorded(idents)
        try:
            service, nodes = self.records.read(claim.service, uuids, names)
        except exceptions.RecordsError as exc:
            return self._without_records(claim, exc)
        if not claim.epoch and claim.service.startswith(request_header.PROBE):
            return decision.PROBED
        return decision.decide(claim, uuids | names, service, nodes)

    def _claim(self, value: str, method: str, path: str) -> Claim | None:
        """Return the claim of a header, if it is signed for this request."""
        found = request_header.read(value)
        if found is None:
            return None
        claim, signature = found
        if not claim.is_signed(signature, self.keys, method, path):
            return None
        ahead = claim.time - self.clock()
        if abs(ahead) <= self.lifetime:
            return claim
        # Only for this log: an answer would help those who try.
        LOG.warning(
            'A request of %s is signed for another time: its clock is %.0f s '
            '%s that of this machine, or the request is a copy',
            texts.printable(claim.service),
            abs(ahead),
            'ahead of' if ahead > 0 else 'behind',
        )
        return None

    def _without_records(
        self, claim: Claim, exc: exceptions.RecordsError
    ) -> Refusal | None:
        self.count('records_unavailable')
        if self.admits_without_records:
            LOG.warning(
                'A request of %s is admitted without the records: %s',
                texts.printable(claim.service),
                exc,
            )
            return None
        LOG.error('Requests with a header are refused: %s', exc)
        return decision.NO_RECORDS


def ownership(application: Application) -> Ownership:
    """Wrap the application of Ironic's API; the entry point.

    :raises ConfigurationError: if ``[ownership]`` of ironic.conf can't be
        used: then Ironic does not start.
    """
    return build(application, cfg.CONF)  # noqa: TID251 - Ironic's own


def build(application: Application, conf: cfg.ConfigOpts) -> Ownership:
    """Build the middleware from a configuration; see :func:`ownership`."""
    options.register_opts(conf)
    own = conf[options.GROUP]
    faults = [
        f'[ownership] {name} is not set'
        for name in ('connection', 'shared_keys')
        if not own[name]
    ]
    # No thread can wait that long, and nan is no bound at all.
    faults += [
        f'[ownership] {name} = {own[name]} is not a number, or too large'
        for name in ('answer_timeout', 'signature_lifetime')
        if not own[name] <= threading.TIMEOUT_MAX
    ]
    if any(len(key) < request_header.SHORTEST_KEY for key in own.shared_keys):
        faults.append(
            '[ownership] shared_keys: each needs at least '
            f'{request_header.SHORTEST_KEY} characters'
        )
    if faults:
        raise exceptions.ConfigurationError(faults)
    return Ownership(
        application,
        Records(own.connection, own.answer_timeout),
        own.shared_keys,
        lifetime=own.signature_lifetime,
        without_header=credentials.requirement(
            own.require_for, conf.auth_strategy, conf
        ),
        admits_without_records=own.without_records == 'admit',
        count=_counter(),
    )


def _counter() -> Callable[[str], None]:
    """Return Ironic's own metrics, which ``[metrics] backend`` enables."""
    from ironic.common import metrics_utils

    logger = metrics_utils.get_metrics_logger('ownership')
    return lambda name: logger.send_counter(name, 1)


def _answer(refusal: Refusal, start_response: Any) -> list[bytes]:
    """Answer in the form of Ironic's errors: JSON within JSON."""
    fault = {
        'faultcode': 'Server' if refusal.status >= 500 else 'Client',
        'faultstring': f'{refusal.message}. {refusal.hint} ({refusal.code})',
        'debuginfo': None,
        'code': refusal.code,
        'owner': refusal.owner,
        'hint': refusal.hint,
    }
    body = json.dumps({'error_message': json.dumps(fault)}).encode()
    status = HTTPStatus(refusal.status)
    start_response(
        f'{status.value} {status.phrase}',
        [
            ('Content-Type', 'application/json'),
            ('Content-Length', str(len(body))),
            # For clients that treat a 409 of Ironic as something else.
            (request_header.HEADER, refusal.code),
        ],
    )
    return [body]
