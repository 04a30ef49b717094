----------------------------- MODULE Ownership -----------------------------
\* Who may write, and who may act: the protocol between processes, the store
\* of members and the records. A process may stall before each of its steps,
\* and a transaction may arrive at any later time: see Delay. Where the code
\* does less than this page allows, the laws hold all the more.
\*
\* The line above a definition names the function that it is of, which names
\* the definition. doc/source/contributor/model.rst has figures.
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Hosts,      \* services
          Doubled,    \* those with a second process, which stands by
          Nodes,
          Watched,    \* the node whose permissions are followed
          None,
          Changing,   \* services that register again, and operators stop,
          Epochs,     \* up to this epoch
          Operators,  \* whether operators stop services and move nodes
          Late,       \* nodes whose transactions may be late
          Sent,       \* late transactions at one time
          Ttl,        \* ticks after a heartbeat at which a member expires
          Lease,      \* ticks after it at which the right to act ends
          Permission  \* ticks for which an answer of the records counts

Operator == <<None, 0>>
Processes == {<<h, i>> \in Hosts \X {1, 2} : i = 1 \/ h \in Doubled}
Host(p) == p[1]

ASSUME Lease <= Ttl

VARIABLES
    service,  \* of a host, on record: epoch, fenced, down, active
    owner,    \* of a node, on record
    held,     \* of a node, on record: ticks until another may own it
    member,   \* of a process: ticks until the store forgets its heartbeat
    epoch,    \* of a process: under which it may act; 0 if it may not
    permit,   \* of a process: ticks for which it may act on the watched node
    sent,     \* transactions, and answers to registrations, on their way
    grace     \* ticks for which the guarantees allow two actors
records == <<service, owner, held>>
process == <<member, epoch, permit>>
vars == <<records, process, sent, grace>>

Init ==
    /\ service = [h \in Hosts |->
           [epoch |-> 1, fenced |-> FALSE, down |-> FALSE, active |-> <<h, 1>>]]
    /\ owner = [n \in Nodes |-> None]
    /\ held = [n \in Nodes |-> 0]
    /\ member = [p \in Processes |-> Ttl]
    /\ epoch = [p \in Processes |-> IF p[2] = 1 THEN 1 ELSE 0]
    /\ permit = [p \in Processes |-> 0]
    /\ sent = {}
    /\ grace = 0

Less(n) == IF n = 0 THEN 0 ELSE n - 1
LessOf(f) == [x \in DOMAIN f |-> Less(f[x])]

\* One clock, since the margin of a lease is for the difference of real ones.
\* After the tick some members beat. The store counts from when a heartbeat
\* arrives, the lease from when it was sent: both at once is the worst case.
\* engine/membership/local_member.py: _beat
Tick ==
    /\ \E beating \in SUBSET {p \in Processes : member[p] > 0} :
           member' = [p \in Processes |->
                          IF p \in beating THEN Ttl ELSE Less(member[p])]
    /\ permit' = LessOf(permit)
    /\ held' = LessOf(held)
    /\ grace' = Less(grace)
    /\ UNCHANGED <<service, owner, epoch, sent>>

----------------------------------------------------------------------------
Dropped(p) ==
    /\ epoch' = [epoch EXCEPT ![p] = 0]
    /\ permit' = [permit EXCEPT ![p] = 0]

Forget(p, w) == IF w.by = p /\ w.kind = "register"
                THEN [w EXCEPT !.kind = "forgotten"] ELSE w

\* engine/membership/local_member.py: _join
Join(p) ==
    /\ member' = [member EXCEPT ![p] = Ttl]
    /\ Dropped(p)
    /\ sent' = {Forget(p, w) : w \in {x \in sent :
                                      ~(x.by = p /\ x.kind = "answer")}}
    /\ UNCHANGED <<records, grace>>

Left(p) == IF member[p] < Ttl - Lease THEN 0 ELSE member[p] - (Ttl - Lease)
\* engine/membership/fence.py: lease
MayAct(p) == epoch[p] # 0 /\ Left(p) > 0
\* db/transaction.py: check_right
IsCurrent(h, e) == service[h].epoch = e /\ ~service[h].fenced

----------------------------------------------------------------------------
Write(kind, p, e, n, from, seen, to) ==
    [kind |-> kind, by |-> p, epoch |-> e, node |-> n,
     from |-> from, seen |-> seen, to |-> to]

\* A process or the network stalls: the transaction is decided and sent, and
\* arrives later, or never.
Delay(w) ==
    /\ Cardinality(sent) < Sent /\ w.node \in Late \cup {None}
    /\ sent' = sent \cup {w}

Siblings(p) == {q \in Processes : Host(q) = Host(p) /\ member[q] > 0}

\* engine/membership/registration.py: update
Requests(p) ==
    IF /\ member[p] > 0 /\ epoch[p] = 0
       /\ ~\E w \in sent : w.by = p /\ w.kind \in {"register", "answer"}
    THEN {Write("register", p, 0, None, None, service[Host(p)].epoch,
                Siblings(p))}
    ELSE {}

\* db/registration.py: register
Register(w) ==
    LET h == Host(w.by)
        s == service[h]
        e == s.epoch + 1
    IN  /\ w.kind \in {"register", "forgotten"}
        /\ IF /\ ~s.down /\ h \in Changing /\ e <= Epochs
              /\ \/ s.active \in {None, w.by}
                 \/ s.active \notin w.to /\ (s.fenced \/ s.epoch = w.seen)
           THEN /\ service' = [service EXCEPT ![h] = [epoch |-> e,
                       fenced |-> FALSE, down |-> FALSE, active |-> w.by]]
                /\ \/ /\ w.kind = "register"
                      /\ epoch' = [epoch EXCEPT ![w.by] = e]
                      /\ sent' = sent \ {w}
                   \/ /\ UNCHANGED epoch
                      /\ sent' = (sent \ {w}) \cup
                             IF w.kind = "forgotten" THEN {} ELSE
                             {Write("answer", w.by, e, None, None, 0, None)}
                      /\ Cardinality(sent') <= Sent
           ELSE sent' = sent \ {w} /\ UNCHANGED <<service, epoch>>
        /\ UNCHANGED <<owner, held, member, permit, grace>>

\* engine/membership/registration.py: _become
Registered(w) ==
    /\ w.kind = "answer"
    /\ epoch' = [epoch EXCEPT ![w.by] = w.epoch]
    /\ sent' = sent \ {w}
    /\ UNCHANGED <<records, member, permit, grace>>

\* engine/membership/registration.py: check
CheckEpoch(p) ==
    /\ epoch[p] # 0 /\ ~IsCurrent(Host(p), epoch[p])
    /\ Dropped(p)
    /\ UNCHANGED <<records, member, sent, grace>>

\* engine/membership/local_member.py: leave
Stop(p) ==
    /\ MayAct(p)
    /\ Delay(Write("retire", p, epoch[p], None, None, 0, None))
    /\ Dropped(p)
    /\ UNCHANGED <<records, member, grace>>

\* db/registration.py: retire
Retire(w) ==
    LET h == Host(w.by) IN
    /\ w.kind = "retire"
    /\ sent' = sent \ {w}
    /\ service' = IF service[h].epoch # w.epoch THEN service
                  ELSE [service EXCEPT ![h].epoch = @ + 1,
                            ![h].fenced = TRUE, ![h].active = None]
    /\ UNCHANGED <<owner, held, process, grace>>

\* engine/host/action_guard.py: read
Permit(p) ==
    /\ MayAct(p)
    /\ IsCurrent(Host(p), epoch[p])
    /\ owner[Watched] = Host(p)
    /\ permit' = [permit EXCEPT ![p] =
           IF Left(p) < Permission THEN Left(p) ELSE Permission]
    /\ UNCHANGED <<records, member, epoch, sent, grace>>

\* A request to Ironic is admitted in one query: what a process believes, and for
\* how long it has stalled, does not matter. Its lease is not looked at.
\* ../ironic_middleware/ironic_ownership_middleware/decision.py: decide
Admits(p) ==
    /\ IsCurrent(Host(p), epoch[p])
    /\ owner[Watched] = Host(p)

----------------------------------------------------------------------------
\* A take-over reads the service before the members: no later state counts.
Gone(h) == IF h = None \/ service[h].active = None THEN TRUE
           ELSE service[h].down \/ member[service[h].active] = 0
Seen(h) == IF h = None THEN 0 ELSE service[h].epoch

\* engine/host/reconcile_plan.py: plan
Plans(p) ==
    IF ~MayAct(p) THEN {} ELSE
    {Write("release", p, epoch[p], n, Host(p), 0, None) :
         n \in {m \in Nodes : owner[m] = Host(p)}}
    \cup
    {Write("claim", p, epoch[p], n, owner[n], Seen(owner[n]), Host(p)) :
         n \in {m \in Nodes : owner[m] # Host(p) /\ Gone(owner[m])}}

Fits(w) == owner[w.node] = w.from /\ (w.from = None => held[w.node] = 0)
\* db/change_set.py: _may_take_from
MayTake(w) == w.from = None \/ service[w.from].fenced
                            \/ service[w.from].epoch = w.seen
Give(w) ==
    /\ owner' = [owner EXCEPT ![w.node] = w.to]
    /\ service' = IF w.from = None \/ service[w.from].fenced THEN service
                  ELSE [service EXCEPT ![w.from].epoch = @ + 1,
                                       ![w.from].fenced = TRUE]
    /\ UNCHANGED <<held, grace>>
Refuse == UNCHANGED <<records, grace>>

\* db/change_set.py: _claim
Claim(w) ==
    /\ w.kind = "claim"
    /\ sent' = sent \ {w}
    /\ IF IsCurrent(Host(w.by), w.epoch) /\ Fits(w) /\ MayTake(w)
       THEN Give(w) ELSE Refuse
    /\ UNCHANGED process

\* db/change_set.py: _give_up
Release(w) ==
    /\ w.kind = "release"
    /\ sent' = sent \ {w}
    /\ IF IsCurrent(Host(w.by), w.epoch) /\ Fits(w)
       THEN /\ owner' = [owner EXCEPT ![w.node] = None]
            /\ grace' = IF w.node = Watched THEN Permission ELSE grace
            /\ UNCHANGED <<service, held>>
       ELSE Refuse
    /\ UNCHANGED process

----------------------------------------------------------------------------
\* Operators do not wait for the permissions of a service that they stop.
Fence(h, down, active) ==
    /\ h \in Changing /\ service[h].epoch < Epochs
    /\ service' = [service EXCEPT ![h] = [epoch |-> @.epoch + 1,
           fenced |-> TRUE, down |-> down, active |-> active]]
    /\ grace' = IF owner[Watched] = h THEN Permission ELSE grace
    /\ UNCHANGED <<owner, held, process, sent>>

\* db/service_admin.py: change
ForceDown(h) == ~service[h].down /\ Fence(h, TRUE, service[h].active)

\* db/service_admin.py: change
ForceUp(h) ==
    /\ service[h].down
    /\ service' = [service EXCEPT ![h].down = FALSE]
    /\ UNCHANGED <<owner, held, process, sent, grace>>

\* db/registration.py: fail_over
FailOver(p) == service[Host(p)].active # p
               /\ Fence(Host(p), service[Host(p)].down, p)

\* db/release_transaction.py: release
HandOver(n) ==
    /\ owner[n] # None
    /\ owner' = [owner EXCEPT ![n] = None]
    /\ held' = [held EXCEPT ![n] = Permission]
    /\ UNCHANGED <<service, process, sent, grace>>

\* engine/changes/gates.py: _source_stopped
Moves == UNION {
    {Write("move", Operator, 0, n, owner[n], Seen(owner[n]), h) :
         h \in Hosts \ {owner[n]}} : n \in {m \in Nodes : Gone(owner[m])}}

\* db/move_transaction.py: carry_out
Move(w) ==
    /\ w.kind = "move"
    /\ sent' = sent \ {w}
    /\ IF Fits(w) /\ MayTake(w) THEN Give(w) ELSE Refuse
    /\ UNCHANGED process

----------------------------------------------------------------------------
New == (IF Operators THEN Moves ELSE {}) \cup UNION {Requests(p) \cup Plans(p) : p \in Processes}

Next ==
    \/ Tick
    \/ \E p \in Processes : Join(p) \/ CheckEpoch(p) \/ Stop(p)
                            \/ Permit(p) \/ (Operators /\ FailOver(p))
    \/ \E w \in New : Delay(w) /\ UNCHANGED <<records, process, grace>>
    \/ \E w \in sent \cup New : Register(w) \/ Retire(w) \/ Claim(w)
                                \/ Release(w) \/ Move(w)
    \/ \E w \in sent : Registered(w)
    \/ \E h \in Hosts : Operators /\ (ForceDown(h) \/ ForceUp(h))
    \/ \E n \in Nodes : Operators /\ HandOver(n)

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
\* The laws. No two processes act on a node; for the ticks of a permission they
\* may, after a service released the node, or an operator stopped its owner.
Acts(p) == MayAct(p) /\ permit[p] > 0

OneActs == \A p, q \in Processes :
    Acts(p) /\ Acts(q) /\ p # q => grace > 0

\* Ironic serves at most one process, without any exception.
OneAdmitted == \A p, q \in Processes : Admits(p) /\ Admits(q) => p = q

\* No epoch is given to two processes of a service.
OneEpoch == \A p, q \in Processes :
    p # q /\ Host(p) = Host(q) /\ epoch[p] = epoch[q] => epoch[p] = 0

\* Of all that was sent, early or late, only the active process of a service
\* that is not fenced changes the records.
LateWritesAreRefused == [][\A w \in sent \ sent' :
    /\ w.kind \in {"claim", "release", "retire"}
    /\ records' # records
    => IsCurrent(Host(w.by), w.epoch) /\ service[Host(w.by)].active = w.by]_vars

\* A node goes from one service to another only if the first one is fenced.
OnlyFromFenced == [][\A n \in Nodes :
    owner[n] # None /\ owner'[n] \notin {None, owner[n]}
    => service'[owner[n]].fenced]_vars
============================================================================
