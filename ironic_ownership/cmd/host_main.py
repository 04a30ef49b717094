"""The host process after its start: build, serve, stop.

Apart from ``host``, because signals have to be blocked before these imports,
which take about half of the start.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent import futures

import sdnotify
from oslo_config import cfg
from oslo_log import log

from ironic_ownership import program, wiring
from ironic_ownership.cmd import sighup
from ironic_ownership.conf import log_format
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import exceptions, extras, texts
from ironic_ownership.engine.host.health import ConditionMonitor, Health
from ironic_ownership.engine.host.process import Host
from ironic_ownership.engine.membership.registration import Role
from ironic_ownership.wiring import heap, unknown_options

LOG = log.getLogger(__name__)

STOP_SIGNALS = frozenset((signal.SIGTERM, signal.SIGINT))
SIGNALS = STOP_SIGNALS | {signal.SIGHUP}


PATIENCE = 1.0
"""Seconds for which threads of plugins may end by themselves."""

STOP_LIMIT = 9.0
"""Seconds after which a stop ends, even if a plugin hangs. That is as safe as
SIGKILL: each transaction is complete or rolled back."""


def run(files: Sequence[str]) -> int:
    """Serve until a signal, or until it can't go on.

    :param files: the arguments that name the configuration files.
    :returns: 0 after a clean stop, 1 if it can't start or go on.
    """
    before = set(threading.enumerate())
    # Before the first thread, so that all of them leave signals to us.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    with _stop_limited() as stopping:
        code = _host(files, stopping)
    _abandon(before, code)
    return code


@contextlib.contextmanager
def _stop_limited() -> Iterator[threading.Event]:
    """End the process if a stop takes longer than :data:`STOP_LIMIT`.

    A stop signal that no thread has received counts, too: it waits for the
    host to be built, or to be reloaded.

    :yields: an event to set when a signal begins the stop.
    """
    stopping, ended = threading.Event(), threading.Event()

    def watch() -> None:
        while not (stopping.wait(0.5) or ended.is_set()):
            if STOP_SIGNALS & signal.sigpending():
                break
        if not ended.wait(STOP_LIMIT):
            # Not by the log, whose lock may be held by a thread that hangs.
            os.write(2, b'the stop takes too long: the process ends now\n')
            os._exit(0)

    threading.Thread(target=watch, name='stop limit', daemon=True).start()
    try:
        yield stopping
    finally:
        ended.set()


def _host(files: Sequence[str], stopping: threading.Event) -> int:
    try:
        conf = new(files, program.HOST)
        log_format.read_levels(conf)  # reports their faults
        log_format.setup(conf, program.HOST)
        with contextlib.closing(wiring.Wiring(conf)) as wired:
            host = wired.host()
            unknown = unknown_options.remarks(conf)
            for remark in (*wired.settings.remarks, *unknown):
                LOG.warning('%s', remark)
            heap.keep()
            again = sighup.Reloading(files, conf, host.reload)
            with _healthcheck(conf, host):
                _serve(host, again.reload, stopping)
    except (exceptions.OwnershipError, cfg.Error) as exc:
        sys.stderr.write(f'{program.HOST}: error: {texts.text_of(exc)}\n')
        return 1
    # Signals are blocked: such an exit is a plugin's, with its own code.
    except (SystemExit, KeyboardInterrupt) as exc:
        LOG.exception('the process ends: a plugin asked for it')
        sys.stderr.write(
            f'{program.HOST}: error: a plugin ended the process: '
            f'{texts.described(exc)}\n'
        )
        return 1
    return 0


def _healthcheck(
    conf: cfg.ConfigOpts, host: Host
) -> contextlib.AbstractContextManager[None]:
    """Serve what the process knows of itself, where configured.

    :raises ConfigurationError: also if a library is not installed.
    """
    if not conf.health.listen:
        return contextlib.nullcontext()
    try:
        from ironic_ownership.web import health
    except ModuleNotFoundError as exc:
        raise exceptions.ConfigurationError(
            [f'[health] listen needs {exc.name}, which is not installed'],
            hint=extras.hint('health'),
        ) from exc
    return health.serving(conf.health.listen, host.monitor.health)


def _serve(
    host: Host, reload: Callable[[], None], stopping: threading.Event
) -> None:
    """Run the host until a signal or its own end; SIGHUP reloads.

    Signals are waited for, not handled: a handler could interrupt the very
    code whose lock it needs.

    :param stopping: set when a signal stops the host.
    :raises BaseException: the error that ended the host.
    """
    manager = ServiceManager(host.monitor)
    with futures.ThreadPoolExecutor(1, 'host') as worker:
        running = worker.submit(host.run)
        try:
            _wait_for_signals(running, manager, reload, stopping)
        finally:
            # Without this thread no signal would ever reach the host.
            host.stop()
    running.result()


def _wait_for_signals(
    running: futures.Future[None],
    manager: ServiceManager,
    reload: Callable[[], None],
    stopping: threading.Event,
) -> None:
    """Return as soon as the host has to stop, or has ended."""
    # The configuration is valid, and signals are handled. Servers that do not
    # answer yet are waited for: the status tells.
    manager.notify('READY=1')
    while not running.done():
        caught = signal.sigtimedwait(SIGNALS, 0.5)
        manager.tick()
        # A process that was stopped longer than the time-out gets a value
        # without meaning from Python, instead of None.
        if caught is None or caught.si_signo not in SIGNALS:
            continue
        if caught.si_signo == signal.SIGHUP:
            manager.reloading()
            reload()
            manager.notify('READY=1')
        else:
            stopping.set()
            manager.notify('STOPPING=1')
            LOG.info('stopping: %s', signal.Signals(caught.si_signo).name)
            return


def _abandon(before: Collection[threading.Thread], code: int) -> None:
    """End the process now if threads of plugins would keep it; else return.

    Python waits for every thread that is no daemon. A plugin that starts one
    would keep a stopped service in the process table.

    :param before: threads that are not waited for anyway.
    :param code: the exit code.
    """
    until = time.monotonic() + PATIENCE
    left = [
        thread
        for thread in threading.enumerate()
        if not thread.daemon
        and thread not in before
        and thread is not threading.current_thread()
    ]
    for thread in left:
        thread.join(max(0.0, until - time.monotonic()))
    left = [thread for thread in left if thread.is_alive()]
    if not left:
        return
    LOG.warning(
        'the process ends without threads that are not daemons, and that a '
        'plugin did not stop: %s',
        ', '.join(map(_described, left)),
    )
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _described(thread: threading.Thread) -> str:
    target = getattr(thread, '_target', None) or type(thread)
    return f'{thread.name} of {getattr(target, "__module__", "unknown")}'


_OF_ROLES = {
    Role.STARTING: 'starting',
    Role.ACTIVE: 'serving',
    Role.STANDBY: 'standing by for another process of this host',
    Role.FORCED_DOWN: 'forced down by an operator',
}


class ServiceManager:
    """Tells the manager of this process how it is doing.

    The watchdog is kept content as long as the process watches its own
    loops. Servers that are down do not concern it: a restart would not bring
    them back.

    Threading: one thread.

    :param monitor: has the health of this moment, and watches the loops.
    :ivar notify: sends the manager a state.
    """

    def __init__(self, monitor: ConditionMonitor) -> None:
        self._monitor = monitor
        self.notify = sdnotify.SystemdNotifier().notify
        self._interval = watchdog_interval()
        self._due = 0.0
        self._status = ''

    def reloading(self) -> None:
        """Tell that the configuration is read again, until it is ready."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.notify(f'RELOADING=1\nMONOTONIC_USEC={now}')

    def tick(self) -> None:
        """Report once in half of the watchdog's time; call it often."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self._interval
        status = status_of(self._monitor.health())
        if status != self._status:
            # sdnotify encodes in Latin-1, and systemd expects UTF-8.
            encoded = status.encode('utf-8', 'replace').decode('latin-1')
            self.notify(f'STATUS={encoded}')
            self._status = status
        if self._monitor.is_running:
            self.notify('WATCHDOG=1')


def watchdog_interval() -> float:
    """Return the seconds between two reports: half of what systemd allows."""
    try:
        allowed = int(os.environ.get('WATCHDOG_USEC', '')) / 1e6
    except ValueError:
        return 5.0
    return min(5.0, allowed / 2)


def status_of(health: Health) -> str:
    """Return one line for ``systemctl status``."""
    text = f'{health.host}: {_OF_ROLES[health.role]}'
    if health.faults:
        text += f'; {"; ".join(health.faults)}'
    return ' '.join(text.split())
