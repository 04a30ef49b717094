"""How the clients word what they got instead of an answer. Sends nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import requests

_LONGEST = 300


def one_line(exc: BaseException) -> str:
    """Return the text of an error on one line, not too long."""
    return ' '.join(str(exc).split())[:_LONGEST]


def unanswered(exc: BaseException) -> str:
    """Return why a request got no answer: what failed, and its first cause.

    :param exc: keystoneauth's, which wraps those of requests, urllib3 and
        the socket, and repeats the URL with its query.
    """
    what = one_line(exc).split(': ')[0].split('?')[0]
    cause = exc
    while deeper := cause.__cause__ or cause.__context__:
        cause = deeper
    return f'{what}: {cause}'


def url(answer: requests.Response) -> str:
    """Return the URL that was asked, without its query."""
    return str(answer.url).partition('?')[0]


def kind(answer: requests.Response) -> str:
    """Return what came in the body, for an answer nobody can read."""
    media_type = answer.headers.get('Content-Type', 'unknown type')
    return f'{len(answer.content)} bytes of {media_type}'
