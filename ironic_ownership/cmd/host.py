"""``ironic-ownership-host``: the process that owns nodes."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Sequence

from oslo_config import cfg
from oslo_log import log

from ironic_ownership import conf as conf_
from ironic_ownership import version, wiring
from ironic_ownership.cmd import config_files, log_levels, reloading
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import host as host_

LOG = log.getLogger(__name__)

PROG = 'ironic-ownership-host'
STOP_SIGNALS = frozenset((signal.SIGTERM, signal.SIGINT))
SIGNALS = STOP_SIGNALS | {signal.SIGHUP}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the host process until it is told to stop.

    :returns: 0 after a clean stop, 1 if it can't start or go on.
    """
    files = _parse(argv)
    # Before the first thread, so that all of them leave signals to us.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        conf = conf_.new(files, PROG)
        _log_as_configured(conf)
        wired = wiring.Wiring(conf)
        try:
            host, reload = wired.host()
            for remark in wired.settings.remarks:
                LOG.warning('%s', remark)
            again = reloading.Reloading(files, PROG, conf, reload)
            _serve(host, again.reload)
        finally:
            wired.close()
    except (exceptions.OwnershipError, cfg.Error) as exc:
        text = ' '.join(str(exc).split())
        sys.stderr.write(f'{PROG}: error: {text}\n')
        return 1
    return 0


def _parse(argv: Sequence[str] | None) -> list[str]:
    parser = argparse.ArgumentParser(
        prog=PROG,
        description='Join the membership, own the nodes that the configured '
        'policies give to this service, and keep the records true, until '
        'SIGTERM. SIGHUP reads the configuration again.',
        epilog='Without options, ironic-ownership.conf is looked for in the '
        'usual places, such as /etc/ironic-ownership.',
    )
    parser.add_argument('--version', action='version', version=version.text())
    config_files.add_arguments(parser)
    return config_files.chosen(parser.parse_args(argv))


def _log_as_configured(conf: cfg.ConfigOpts) -> None:
    log_levels.read(conf)  # here it is told what is wrong with them
    try:
        log.setup(conf, PROG)
    except (OSError, log.LogConfigError) as exc:
        raise exceptions.ConfigurationError(
            [f'cannot log: {exc}'],
            hint='Correct log_file, log_dir or log_config_append in [DEFAULT]',
        ) from exc


def _serve(host: host_.Host, reload: Callable[[], None]) -> None:
    """Run the host until a signal or its own end; SIGHUP reloads.

    Signals are waited for, not handled: a handler could interrupt the very
    code whose lock it needs.
    """
    failures: list[exceptions.OwnershipError] = []

    def run() -> None:
        try:
            host.run()
        except exceptions.OwnershipError as exc:
            failures.append(exc)

    worker = threading.Thread(target=run, name='host')
    worker.start()
    while worker.is_alive():
        caught = signal.sigtimedwait(SIGNALS, 0.5)
        # A process that was stopped longer than the time-out gets a value
        # without meaning from Python, instead of None.
        if caught is None or caught.si_signo not in SIGNALS:
            continue
        if caught.si_signo == signal.SIGHUP:
            reload()
        else:
            LOG.info('stopping: %s', signal.Signals(caught.si_signo).name)
            host.stop()
            break
    worker.join()
    if failures:
        raise failures[0]
