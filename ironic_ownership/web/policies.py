"""Access rules: one rule of oslo.policy for each operation.

Operators may replace each of them in their policy file, whose sample is
generated from here.
"""

from __future__ import annotations

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
        'role:admin and (system_scope:all or is_admin_project:True)',
        'May change the owner of nodes: an admin of the system, or of a '
        'project in [api] admin_projects.',
    ),
    policy.RuleDefault(
        operation.Access.READ.value,
        'rule:admin or (role:reader and system_scope:all)',
        'May read all nodes and services.',
    ),
    policy.RuleDefault(
        operation.Access.SERVICE.value,
        'rule:admin or (role:service and True:%(is_service_project)s)',
        'Acts for a compute service, in a project of [api] service_projects: '
        'may make reservations, and use those that it made. Only an admin may '
        'use all.',
    ),
    policy.RuleDefault(
        operation.Access.READ_RESERVATIONS.value,
        'rule:reader or rule:service',
        'May read reservations: a reader all, a service those that it made.',
    ),
)

_OF_ALL = {
    operation.Access.SERVICE: operation.Access.ADMIN,
    operation.Access.READ_RESERVATIONS: operation.Access.READ,
}
"""The access that opens what all clients made, by the one that does not."""


def rule_name(one: operation.Operation) -> str:
    """Return the name of an operation's rule."""
    return f'{PROJECT}:{one.name}'


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules with their defaults, for the sample."""
    documented = [
        policy.DocumentedRuleDefault(
            rule_name(one),
            f'rule:{one.access.value}',
            one.summary,
            [{'path': one.path, 'method': one.method}],
            scope_types=_SCOPES,
        )
        for one in routes.OPERATIONS
        if one.access is not operation.Access.PUBLIC
    ]
    return [*_BASES, *documented]


class Rules:
    """The rules as this deployment has them.

    :param conf: with the group ``oslo_policy``.
    :ivar enforcer: of oslo.policy, with all rules.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._admin_projects = frozenset(conf.api.admin_projects)
        self._service_projects = frozenset(conf.api.service_projects)
        self.enforcer = policy.Enforcer(conf)
        self.enforcer.register_defaults(list_rules())

    def check(
        self, one: operation.Operation, credentials: context.RequestContext
    ) -> None:
        """Refuse an operation that the client is not allowed to call.

        :raises ForbiddenError: naming the rule.
        """
        rule = rule_name(one)
        # Keystone's own value is true in all projects, unless it is
        # configured to name one.
        credentials.is_admin_project = (
            credentials.project_id in self._admin_projects
        )
        if not self._allows(rule, credentials):
            raise errors.ForbiddenError(
                f'the rule {rule} does not allow it',
                hint='Ask for a role that it names, or change it in the '
                'policy file',
            )

    def sees_all(
        self, one: operation.Operation, credentials: context.RequestContext
    ) -> bool:
        """Tell whether a client may use what other clients made.

        :param credentials: of a client that may call the operation.
        """
        rule = _OF_ALL.get(one.access)
        return rule is None or self._allows(rule.value, credentials)

    def _allows(self, rule: str, credentials: context.RequestContext) -> bool:
        target = {
            'is_service_project': credentials.project_id
            in self._service_projects
        }
        try:
            return bool(self.enforcer.authorize(rule, target, credentials))
        except policy.InvalidScope:
            return False
