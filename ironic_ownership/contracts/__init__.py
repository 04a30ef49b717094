"""All that a plugin imports: one flat list of names, standard library only.

A policy subclasses :class:`FilterPolicy` or :class:`AssignerPolicy`, a
membership backend :class:`MembershipBackend`, and an entry point in the group
``ironic_ownership.policies`` or ``ironic_ownership.backends`` names the
class. Everything else is here to be taken and given back.

**Version.** A plugin says for which contract it was written, as a number::

    class MyPolicy(contracts.FilterPolicy):
        contract_version = 1

never as ``CONTRACT_VERSION``, which is what the installed release speaks:
the two are compared, and a plugin for another version is refused at start
and named, with its distribution.

**Stability.** As long as ``CONTRACT_VERSION`` stays the same, in every
release:

* no name in ``__all__`` goes away or changes its meaning;
* no method of a base class gets another required argument, and no new one
  has to be implemented: what is added has a default that behaves as before;
* values such as :class:`Node` may get further fields, always with a default
  and at the end, and :class:`Capability` further members: build values with
  keyword arguments, and ignore what you do not know;
* what a plugin may rely on when it is called, and what it may raise, only
  gets wider.

Only a major release raises the version, and its release notes say what a
plugin has to change. The suites in :mod:`ironic_ownership.testing` follow
the same rules, but any release may check a law that was there before more
strictly: a plugin that fails then was always wrong.

Not promised: other modules than this one (the ports of the records, of
Ironic and of Placement are between our own packages), names that begin with
an underscore, and the wording of messages.

**Secrets.** What a policy decides from is advertised: the store of the
membership, the records and the command line show it to everyone. So the
settings of a policy never hold an option declared ``secret``, and the host
refuses to start with one that does. The options of a backend are never
advertised.
"""

from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.capabilities import Capability
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
from ironic_ownership.contracts.options import Option, OptionType
from ironic_ownership.contracts.policy import (
    AssignerPolicy,
    FilterPolicy,
    Policy,
)

__all__ = [
    'CONTRACT_VERSION',
    'AssignerPolicy',
    'BackendUnavailableError',
    'Capability',
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
    'Policy',
    'PolicySettings',
    'PolicySettingsError',
    'Scope',
    'Value',
    'View',
    'canonical_host',
]
