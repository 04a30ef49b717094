"""Adapters of keystoneauth to services, from groups of the configuration.

The options are keystoneauth's own, for any service. Nothing is sent while an
adapter is built: a service that is down must not prevent that.
"""

from __future__ import annotations

import contextlib
import re
import urllib.parse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from ironic_ownership.contracts import exceptions, texts

if TYPE_CHECKING:
    from keystoneauth1 import adapter as ksa_adapter

TIMEOUT = 60.0
"""Default of the seconds that one request may take."""

_SAMPLE_PLUGINS = ('password', 'v3applicationcredential', 'none')
_NOT_USED = frozenset(
    (
        'version',
        'min-version',
        'max-version',
        'connect-retries',
        'connect-retry-delay',
        'status-code-retries',
        'status-code-retry-delay',
        'retriable-status-codes',
    )
)


def register_opts(
    conf: cfg.ConfigOpts, group: str, *, service_type: str
) -> None:
    """Register the options of one service, after the files were read.

    Those of the kind of authentication, too, if that is set: call it again
    after it was set to another one.
    """
    from keystoneauth1 import loading

    conf.register_opts(_own_opts(service_type), group=group)
    loading.register_auth_conf_options(conf, group)
    register_auth_opts(conf, group)


def register_auth_opts(
    conf: cfg.ConfigOpts, group: str
) -> list[tuple[str, cfg.Opt]]:
    """Register the options of the kind of authentication that is set.

    An unknown one is reported when it is used.

    :returns: group and option of each; the group is ``auth_section``, if that
        is set.
    """
    from keystoneauth1 import exceptions as ksa
    from keystoneauth1 import loading

    try:
        section = conf[group].auth_section or group
        loading.register_auth_conf_options(conf, section)
        name = conf[section].auth_type
        if name is None:
            return []
        opts = loading.get_auth_plugin_conf_options(name)
        conf.register_opts(opts, group=section)
    except (ksa.ClientException, ValueError, cfg.Error):
        return []
    return [(section, opt) for opt in opts]


def every_opt(service_type: str) -> list[cfg.Opt]:
    """Return the options of one service, of common kinds of credentials."""
    from keystoneauth1 import loading

    return [
        *list_opts(service_type),
        *loading.get_auth_common_conf_options(),
        *_own_opts(service_type),
    ]


def list_opts(service_type: str) -> list[cfg.Opt]:
    """Return the options of one service for the sample and the validator."""
    from keystoneauth1 import loading

    opts = {
        opt.dest: opt
        for opt in (
            *loading.get_auth_common_conf_options(),
            *_own_opts(service_type),
        )
        if opt.name not in _NOT_USED
    }
    for plugin in _SAMPLE_PLUGINS:
        for opt in loading.get_auth_plugin_conf_options(plugin):
            opts.setdefault(opt.dest, opt)
    return list(opts.values())


def _own_opts(service_type: str) -> list[cfg.Opt]:
    from keystoneauth1 import loading

    opts: list[cfg.Opt] = [
        *loading.get_session_conf_options(),
        *loading.get_adapter_conf_options(include_deprecated=False),
    ]
    cfg.set_defaults(opts, timeout=TIMEOUT, service_type=service_type)
    return opts


def connect(
    conf: cfg.ConfigOpts, group: str, *, service_type: str
) -> ksa_adapter.Adapter:
    """Build the adapter to one service from its group.

    :raises IronicError: naming the line that is missing or wrong.
    :raises ConfigurationError: if a value has not the type of its option.
    """
    from keystoneauth1 import exceptions as ksa
    from keystoneauth1 import loading

    with read_errors(group):
        register_opts(conf, group, service_type=service_type)
        _check_url(conf, group, 'endpoint_override')
        try:
            auth = loading.load_auth_from_conf_options(conf, group)
            if auth is None:
                raise _auth_error(group, 'auth_type is not set')
            session = loading.load_session_from_conf_options(
                conf, group, auth=auth
            )
        except ksa.ClientException as exc:
            raise _auth_error(group, ' '.join(str(exc).split())) from exc
        _check_endpoint(conf, group)
        found: ksa_adapter.Adapter = loading.load_adapter_from_conf_options(
            conf, group, session=session, auth=auth
        )
        return found


@contextlib.contextmanager
def read_errors(group: str) -> Iterator[None]:
    """Translate errors of oslo.config for one group.

    :raises ConfigurationError: if a value has not the type of its option.
    """
    try:
        yield
    except cfg.Error as exc:
        # The location of a value in the code of oslo.config is no help.
        text = re.sub(r' from LocationInfo\(.*\) is not', ' is not', str(exc))
        raise exceptions.ConfigurationError([f'[{group}] {text}']) from exc


def value(conf: cfg.ConfigOpts, group: str, name: str) -> Any:
    """Return the value of one option."""
    with read_errors(group):
        return conf[group][name]


def _check_endpoint(conf: cfg.ConfigOpts, group: str) -> None:
    section = conf[group].auth_section or group
    if conf[section].auth_type != 'none' or conf[group].endpoint_override:
        return
    _check_url(conf, section, 'endpoint')
    if not conf[section].endpoint:
        raise exceptions.IronicError(
            f'[{group}] endpoint_override is not set, and without Keystone '
            '(auth_type = none) no other option names the service',
            hint='Add a line such as endpoint_override = '
            'http://ironic.example.org:6385',
        )


def _check_url(conf: cfg.ConfigOpts, group: str, name: str) -> None:
    url: Any = conf[group][name]
    if not url:
        return
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ('http', 'https') and bool(parts.hostname)
        good = good and parts.port != 0
    except ValueError:
        good = False
    if not good or any(c.isspace() for c in url):
        raise exceptions.IronicError(
            f'[{group}] {name} = {texts.without_credentials(url)} is not a '
            'URL',
            hint='Write it as http://host:port or https://host:port',
        )


def _auth_error(group: str, what: str) -> exceptions.IronicError:
    return exceptions.IronicError(
        f'The credentials in [{group}] cannot be used: {what}',
        hint='Add auth_type = password with auth_url, username, password, '
        'user_domain_name and system_scope = all; or, without Keystone, '
        'auth_type = none and endpoint_override',
    )
