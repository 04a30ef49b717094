"""Certificates of a private authority, for servers on 127.0.0.1."""

from __future__ import annotations

import pathlib
import socket
import ssl

from lab import process, server

_DAYS = '2'


class Certificates:
    """An authority, and a certificate that it has signed.

    :param directory: an existing directory for the files.
    :param names: of the server, as in a certificate.
    :ivar authority: certificate of the authority.
    :ivar certificate: of the server.
    :ivar key: of the server.
    :ivar both: certificate and key of the server.
    """

    def __init__(
        self,
        directory: pathlib.Path,
        names: str = 'IP:127.0.0.1,DNS:localhost',
    ) -> None:
        self.authority = directory / 'ca.pem'
        self.certificate = directory / 'server.pem'
        self.key = directory / 'server.key'
        self.both = directory / 'both.pem'
        authority_key = directory / 'ca.key'
        _openssl(
            *('req', '-x509', '-subj', '/CN=lab', '-days', _DAYS),
            *('-keyout', str(authority_key), '-out', str(self.authority)),
        )
        _openssl(
            *('req', '-x509', '-subj', '/CN=server', '-days', _DAYS),
            *('-addext', f'subjectAltName={names}'),
            *('-addext', 'basicConstraints=critical,CA:FALSE'),
            *('-CA', str(self.authority), '-CAkey', str(authority_key)),
            *('-keyout', str(self.key), '-out', str(self.certificate)),
        )
        self.both.write_text(
            self.certificate.read_text() + self.key.read_text()
        )

    def wrap(self, plain: socket.socket) -> socket.socket:
        """Return a client's connection over TLS, through another one.

        It has the certificate as well.
        """
        context = ssl.create_default_context(cafile=self.authority)
        context.load_cert_chain(self.certificate, self.key)
        return context.wrap_socket(plain, server_hostname='127.0.0.1')


def _openssl(*arguments: str) -> None:
    process.output(
        [
            server.program('openssl', 'openssl'),
            *arguments,
            *('-newkey', 'rsa:2048', '-noenc'),
        ]
    )
