"""Program ``ironic-ownership-nova-compute``: nova-compute with the driver.

For hosts where Nova is in another directory of packages than this driver, so
that the module below ``nova.virt`` is not found. Everywhere else the program
``nova-compute`` finds the driver by itself.
"""

from __future__ import annotations

import pathlib
import sys

_DRIVERS = pathlib.Path(__file__).parent / 'virt'


def main() -> None:
    """Add the driver to those of Nova, and run nova-compute."""
    # First of all: it prepares Python for the threads of Nova.
    from nova.cmd import compute

    add_driver()
    # Nova finds its configuration files and its service by this name.
    sys.argv[0] = 'nova-compute'
    compute.main()


def add_driver() -> None:
    """Add the directory with the driver to those of Nova's drivers."""
    import nova.virt

    nova.virt.__path__.append(str(_DRIVERS))
