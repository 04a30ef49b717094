"""Actions: a form, the proposal of the HTTP service, then the execution.

Each action is described once. Every gate comes from the HTTP service, which
evaluates all of them again when the action is executed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

import flask
import werkzeug

from ironic_ownership_console import pages
from ironic_ownership_console.proposals import subjects
from ironic_ownership_console.service import ServiceError

ACTIONS = flask.Blueprint('actions', __name__)
Form = Mapping[str, str]
Body = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a form, and of the body.

    :param kind: ``text``, ``service``, ``minutes`` or ``flag``.
    :param key: in the body, if that is not the name.
    """

    name: str
    label: str
    kind: str = 'text'
    required: bool = True
    key: str = ''

    def value(self, form: Form) -> Any:
        """Return the value in the body; ``None`` leaves it out."""
        text = form.get(self.name, '')
        if self.kind == 'flag':
            return True if self.name in form else None
        if self.kind == 'minutes':
            return 60 * int(text if text.isdecimal() and len(text) < 6 else 0)
        return text or None


REASON = Field('reason', 'Reason')
_SKIP = Field('skip_invalid', 'Leave out what a gate refuses', 'flag', False)


@dataclasses.dataclass(frozen=True)
class Action:
    """One thing that can be done.

    :param title: with the target in braces.
    :param path: likewise.
    :param fixed: returns what the body has besides the fields of the form. A
        deletion has it in the query.
    :param note: what happens, in one sentence.
    :param page: to which the browser goes afterwards, with the target.
    :param back: the page of the target, if that is another one.
    """

    title: str
    note: str
    method: str
    path: str
    fields: tuple[Field, ...] = ()
    fixed: Callable[[str], Body] = lambda target: {}
    page: str = '/services/{}'
    dangerous: bool = False
    back: str = ''

    def body(self, target: str, form: Form) -> Body:
        """Return the body, or query, without ``dry_run``."""
        values = {one.key or one.name: one.value(form) for one in self.fields}
        given = {key: v for key, v in values.items() if v is not None}
        return {**self.fixed(target), **given}


BY_NAME = {
    'move': Action(
        'Move {}',
        'The node, and an instance on it, get another owner in one '
        'transaction.',
        'POST',
        '/v1/moves',
        (Field('service', 'To the service', 'service'), REASON),
        lambda uuid: {'select': {'uuids': [uuid]}},
        '/nodes/{}',
    ),
    'release': Action(
        'Release {}',
        'The policies choose the next owner of the free node.',
        'POST',
        '/v1/compute-nodes/release',
        (REASON,),
        lambda uuid: {'uuids': [uuid]},
        '/nodes/{}',
    ),
    'delete': Action(
        'Delete the record of {}',
        'Only of a node that Ironic no longer has.',
        'DELETE',
        '/v1/compute-nodes/{}',
        (REASON,),
        page='/nodes',
        dangerous=True,
        back='/nodes/{}',
    ),
    'drain': Action(
        'Drain {}',
        'Each node moves to a service that admits it. The service itself has '
        'to be stopped.',
        'POST',
        '/v1/services/{}/drain',
        (REASON, _SKIP),
        page='/moves',
        back='/services/{}',
    ),
    'disable': Action(
        'Disable {}',
        'It keeps its nodes and gets no others.',
        'PATCH',
        '/v1/services/{}',
        (Field('reason', 'Reason', key='disabled_reason'),),
        lambda host: {'disabled': True},
    ),
    'enable': Action(
        'Enable {}',
        'It gets nodes again.',
        'PATCH',
        '/v1/services/{}',
        (REASON,),
        lambda host: {'disabled': False},
    ),
    'down': Action(
        'Force {} down',
        'It loses its right to write at once. Make sure that it is stopped.',
        'PATCH',
        '/v1/services/{}',
        (REASON,),
        lambda host: {'forced_down': True},
        dangerous=True,
    ),
    'up': Action(
        'Let {} come up',
        'It may register again.',
        'PATCH',
        '/v1/services/{}',
        (REASON,),
        lambda host: {'forced_down': False},
    ),
    'failover': Action(
        'Fail {} over',
        'A standby process takes over.',
        'POST',
        '/v1/services/{}/failover',
        (REASON,),
    ),
    'delete-service': Action(
        'Delete {}',
        'The service is forgotten.',
        'DELETE',
        '/v1/services/{}',
        (REASON,),
        page='/services',
        dangerous=True,
        back='/services/{}',
    ),
    'pause': Action(
        'Pause automatic changes of owner',
        'No node in the scope changes owner automatically. Your own moves go '
        'on.',
        'POST',
        '/v1/pauses',
        (
            Field('minutes', 'Minutes', 'minutes', key='seconds'),
            REASON,
            Field('shard', 'Only this shard', required=False),
            Field(
                'conductor_group', 'Only this conductor group', required=False
            ),
        ),
        page='/',
    ),
    'resume-pause': Action(
        'End the pause {}',
        'Nodes change owner again with the next refresh of their services.',
        'DELETE',
        '/v1/pauses?pause={}',
        page='/',
    ),
    'resume-move': Action(
        'Resume the move {}',
        'Every gate is evaluated again; nodes that are done stay so.',
        'POST',
        '/v1/moves/{}/resume',
        (REASON, _SKIP),
        page='/moves/{}',
    ),
}


@ACTIONS.route('/act/<name>', methods=['GET', 'POST'], defaults={'target': ''})
@ACTIONS.route('/act/<name>/<target>', methods=['GET', 'POST'])
def act(name: str, target: str) -> werkzeug.Response | tuple[str, int]:
    """Show the form, propose, or execute what was proposed."""
    action = BY_NAME.get(name)
    if action is None:
        flask.abort(404)
    form = flask.request.form.to_dict()
    if flask.request.method == 'GET':
        if action.fields:
            return _page(action, target, flask.request.args.to_dict())
        form = {'step': 'propose'}
    proposed = json.dumps(action.body(target, form), sort_keys=True)
    try:
        # A form that was changed after the proposal gets another proposal.
        if form.get('step') == 'execute' and form.get('proposed') == proposed:
            answer = send(action, target, form, dry_run=False)
            return _done(action, target, answer)
        answer = send(action, target, form, dry_run=True)
    except ServiceError as exc:
        if exc.status == 401:
            raise
        return _page(action, target, form, error=exc)
    return _page(
        action,
        target,
        form,
        proposal=[*subjects(answer)],
        warnings=answer.get('warnings', ()),
        proposed=proposed,
    )


def send(
    action: Action, target: str, form: Form, *, dry_run: bool
) -> dict[str, Any]:
    """Execute an action, or ask for its proposal.

    :raises ServiceError: if it is refused, or there is no answer.
    """
    body = action.body(target, form)
    if dry_run:
        body['dry_run'] = True
    deletes = action.method == 'DELETE'
    path = pages.quoted(action.path, target)
    answer: dict[str, Any] = pages.call(
        action.method,
        path,
        query=body if deletes else None,
        body=None if deletes else body,
    )
    return answer


def _done(
    action: Action, target: str, answer: Mapping[str, Any]
) -> werkzeug.Response:
    done = [*subjects(answer)]
    refused = sum(one.is_refused for one in done)
    title = action.title.format(target)
    text = f'{title}: done'
    if refused:
        text = f'{title}: {len(done) - refused} of {len(done)} done'
    parts = answer.get('moves', [answer])
    if any(one.get('background') for one in parts):
        text = f'{title}: it runs'
    warnings = (text for one in parts for text in one.get('warnings', ()))
    flask.g.session.message = ' '.join([f'{text}.', *warnings])
    return flask.redirect(pages.quoted(action.page, target), 303)


def _page(
    action: Action,
    target: str,
    form: Form,
    *,
    error: ServiceError | None = None,
    **more: Any,
) -> tuple[str, int]:
    kinds = [field.kind for field in action.fields]
    page = flask.render_template(
        'action.html',
        action=action,
        target=target,
        form=form,
        error=error,
        back=pages.quoted(action.back or action.page, target),
        hosts=pages.hosts() if 'service' in kinds else (),
        refused=[*subjects(error.details)]
        if error and isinstance(error.details, dict)
        else (),
        **more,
    )
    return page, error.status if error else 200
