"""The public interface for plugins: one flat list of names, stdlib only.

A policy subclasses :class:`FilterPolicy` or :class:`AssignerPolicy`, a
membership backend :class:`MembershipBackend`, and an entry point in the group
``ironic_ownership.policies`` or ``ironic_ownership.backends`` names the
class. The other names are the values that they receive and return.

**Version.** A plugin declares for which contract it was written, as a number::

    class MyPolicy(contracts.FilterPolicy):
        contract_version = 2

never as ``CONTRACT_VERSION``, the newest version of the installed release. A
release supports several versions, and refuses a plugin for another one at
start, with its name and distribution. This one supports 1 and 2: what version
2 adds is marked "Since version 2", and version 1 plugins need no change.

**Stability.** For plugins of one contract version, in every release that
supports it:

* no name in ``__all__`` goes away or changes its meaning;
* no method of a base class gets another required argument, and no new one
  has to be implemented: what is added has a default that behaves as before;
* values such as :class:`Node` may get further fields, always with a default
  and at the end, and :class:`Capability` further members: build values with
  keyword arguments, and ignore unknown fields and members;
* guarantees to a plugin, and the set of errors that it may raise, only grow.

A member advertises the newest version that its policies are written for. A
service whose release does not support it cannot decide for that member: first
upgrade all services, then select the policy. The suites in
:mod:`ironic_ownership_plugin_kit` follow the same rules, but any release may
check an existing law more strictly: a plugin that fails then was always wrong.

Not promised: other modules than this one (the ports of the records, of
Ironic and of Placement are between our own packages), names that begin with
an underscore, the names of the tests in the suites, and the wording of
messages.

**Secrets.** The settings of a policy are advertised: the membership store,
the records and the command line show them to all users. They never hold an
option declared ``secret``, and the host refuses to start with one that does.
The options of a backend are never advertised.
"""

from ironic_ownership.contracts.backend import Capability, MembershipBackend
from ironic_ownership.contracts.bare_metal import NODE_FIELDS
from ironic_ownership.contracts.exceptions import (
    BackendUnavailableError,
    MembershipError,
    NotMemberError,
    OwnershipError,
    PolicySettingsError,
)
from ironic_ownership.contracts.model import (
    CONTRACT_VERSION,
    Member,
    MemberSettings,
    Node,
    PolicySettings,
    Scope,
    Value,
    View,
    canonical_host,
)
from ironic_ownership.contracts.options import (
    Option,
    OptionType,
    Source,
    as_map,
)
from ironic_ownership.contracts.policy import (
    AssignerPolicy,
    AssignmentRequest,
    Choice,
    FilterPolicy,
    Peer,
    Policy,
)

__all__ = [
    'CONTRACT_VERSION',
    'NODE_FIELDS',
    'AssignerPolicy',
    'AssignmentRequest',
    'BackendUnavailableError',
    'Capability',
    'Choice',
    'FilterPolicy',
    'Member',
    'MemberSettings',
    'MembershipBackend',
    'MembershipError',
    'Node',
    'NotMemberError',
    'Option',
    'OptionType',
    'OwnershipError',
    'Peer',
    'Policy',
    'PolicySettings',
    'PolicySettingsError',
    'Scope',
    'Source',
    'Value',
    'View',
    'as_map',
    'canonical_host',
]
