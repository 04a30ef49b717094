"""``ironic-ownership-status``: check whether an upgrade can go on."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from ironic_ownership import conf as options
from ironic_ownership import version
from ironic_ownership.cmd import upgrade_checks
from ironic_ownership.contracts import exceptions

PROG = 'ironic-ownership-status'


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``upgrade check [--json]``, which writes nothing; or ``--version``.

    :param argv: arguments; those of the process by default.
    :returns: 0 if the services can be restarted, 1 after a warning, 2 if a
        service of this release would not start or not work, 255 if the
        configuration can't be read. Wrong usage exits with 2, too.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv == ['--version']:
        sys.stdout.write(f'{version.text()}\n')
        return 0
    conf = cfg.ConfigOpts()
    # The options of the log would appear as arguments.
    options.register_opts(conf, logs=False)
    project = options.PROJECT
    try:
        return int(
            upgradecheck.main(
                conf,
                project,
                upgrade_checks.Checks(conf),
                argv,
                cfg.find_config_files(project, project),
            )
        )
    except (cfg.Error, exceptions.OwnershipError, OSError, ValueError) as exc:
        text = ' '.join(str(exc).split())
        sys.stderr.write(f'{PROG}: error: {text}\n')
        return 255


if __name__ == '__main__':
    sys.exit(main())
