"""The other end of a connection on loopback, and whose it is.

Asks the kernel for that one connection, as ``ss`` does. Its list of all of
them, ``/proc/net/tcp``, takes long where there are thousands.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import struct

_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST = 1
_HEAD = struct.Struct('=IHHII')
"""Length, type, flags, sequence number, process."""

_QUESTION = struct.Struct('=BBBxI')
"""Family, protocol, extensions, states."""

_ENDS = struct.Struct('!HH4s12x4s12x')
_ANY = struct.pack('=III', 0, 0xFFFFFFFF, 0xFFFFFFFF)
"""Interface and cookie."""

_INODE = _HEAD.size + 4 + _ENDS.size + len(_ANY) + 4 * 4
"""Offset in the answer: after four bytes, the ends and four numbers."""

_HOME = socket.inet_aton('127.0.0.1')


def inodes(port: int, remote: int) -> set[str]:
    """Return the sockets from one port of 127.0.0.1 to another one."""
    try:
        return {str(_inode(port, remote))}
    except FileNotFoundError:  # it has ended
        return set()
    except OSError:  # the kernel was built without this
        return _listed(port)


def files(pid: int | None) -> set[str]:
    """Return what the open files of a process are."""
    found = set()
    with contextlib.suppress(OSError):
        for file in pathlib.Path(f'/proc/{pid}/fd').iterdir():
            with contextlib.suppress(OSError):
                found.add(str(file.readlink()))
    return found


def _inode(port: int, remote: int) -> int:
    body = (
        _QUESTION.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0xFFFFFFFF)
        + _ENDS.pack(port, remote, _HOME, _HOME)
        + _ANY
    )
    head = _HEAD.pack(_HEAD.size + len(body), _BY_FAMILY, _REQUEST, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as one:
        one.send(head + body)
        answer = one.recv(4096)
    _, kind, *_ = _HEAD.unpack_from(answer)
    if kind != _BY_FAMILY:
        (error,) = struct.unpack_from('=i', answer, _HEAD.size)
        raise OSError(-error, os.strerror(-error))
    (inode,) = struct.unpack_from('=I', answer, _INODE)
    return int(inode)


def _listed(port: int) -> set[str]:
    local = f':{port:04X}'
    found = set()
    # Java uses sockets of both families.
    for family in ('tcp', 'tcp6'):
        for line in pathlib.Path('/proc/net', family).read_text().splitlines():
            fields = line.split()
            if fields[1].endswith(local):
                found.add(fields[9])
    return found
