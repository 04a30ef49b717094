"""Who may do what: a rule of oslo.policy for each operation.

Every operation has a rule of its own, which operators may replace in their
policy file. The sample of that file is generated from here.
"""

from __future__ import annotations

from collections.abc import Iterable

from oslo_config import cfg
from oslo_context import context
from oslo_policy import policy

from ironic_ownership.api import operation
from ironic_ownership.web import errors, routes

PROJECT = 'ironic_ownership'
_SCOPES = ['system', 'project']

_BASES = (
    policy.RuleDefault(
        operation.Access.ADMIN.value,
        'role:admin',
        'Who may change the owner of nodes.',
    ),
    policy.RuleDefault(
        operation.Access.READ.value,
        'rule:admin or (role:reader and system_scope:all)',
        'Who may look at all nodes and services.',
    ),
    policy.RuleDefault(
        operation.Access.SERVICE.value,
        'rule:admin or role:service',
        'Who acts for a compute service.',
    ),
    policy.RuleDefault(
        operation.Access.READ_RESERVATIONS.value,
        'rule:reader or rule:service',
        'Who may look at reservations.',
    ),
)


def name_of(one: operation.Operation) -> str:
    """Return the name of an operation's rule."""
    return f'{PROJECT}:{one.name}'


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules with their defaults, for the sample."""
    return [*_BASES, *map(_rule, _restricted())]


def _restricted() -> Iterable[operation.Operation]:
    return (
        one
        for one in routes.OPERATIONS
        if one.access is not operation.Access.PUBLIC
    )


def _rule(one: operation.Operation) -> policy.DocumentedRuleDefault:
    return policy.DocumentedRuleDefault(
        name_of(one),
        f'rule:{one.access.value}',
        one.summary,
        [{'path': one.path, 'method': one.method}],
        scope_types=_SCOPES,
    )


class Rules:
    """The rules as this deployment has them.

    :param conf: with the group ``oslo_policy``.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._enforcer = policy.Enforcer(conf)
        self._enforcer.register_defaults(list_rules())

    def check(
        self, one: operation.Operation, who: context.RequestContext
    ) -> None:
        """Refuse an operation that the client may not do.

        :raises ForbiddenError: naming the rule.
        """
        rule = name_of(one)
        try:
            allowed = self._enforcer.authorize(rule, {}, who)
        except policy.InvalidScope:
            allowed = False
        if not allowed:
            raise errors.ForbiddenError(
                f'the rule {rule} does not allow it',
                hint='Ask for a role that it names, or change it in the '
                'policy file',
            )
