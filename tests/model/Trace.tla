------------------------------- MODULE Trace -------------------------------
\* A recorded history is a behaviour of the records in Ownership. Recorded is
\* the transaction that each event is of; what a process knew, and when, is
\* not. Writers use the epoch of their own last registration.
EXTENDS Ownership, Sequences, History

VARIABLE next  \* number of the next event

Names == {History[i].process : i \in DOMAIN History} \cup {Operator}
TraceProcesses == {p \in Names : p[1] # None}

TraceInit ==
    /\ service = [h \in Hosts |->
           [epoch |-> 0, fenced |-> TRUE, down |-> FALSE, active |-> None]]
    /\ owner = [n \in Nodes |-> None]
    /\ held = [n \in Nodes |-> 0]
    /\ member = [p \in Processes |-> Ttl]
    /\ epoch = [p \in Processes |-> 0]
    /\ permit = [p \in Processes |-> 0]
    /\ sent = {}
    /\ grace = 0
    /\ next = 1

Current(p) == p[1] # None => IsCurrent(Host(p), epoch[p])
Owned(e) == owner[e.node] = e.from /\ owner'[e.node] = e.to
Now(kind, e) ==
    Write(kind, e.process, IF e.process[1] = None THEN 0 ELSE epoch[e.process],
          e.node, e.from, 0, e.to)

Step(e) ==
    CASE e.kind = "register" ->
             /\ Register(Write("register", e.process, 0, None, None,
                               service[Host(e.process)].epoch, {}))
             /\ epoch'[e.process] = service'[Host(e.process)].epoch
             /\ ~service'[Host(e.process)].fenced
      [] e.kind = "retire" ->
             Retire(Now("retire", e)) /\ service' # service
      [] e.kind = "claim" -> Claim(Now("claim", e)) /\ Owned(e)
      [] e.kind = "release" -> Release(Now("release", e)) /\ Owned(e)
      [] e.kind = "move" -> Move(Now("move", e)) /\ Owned(e)
      [] e.kind = "hand over" -> HandOver(e.node) /\ Owned(e)
      [] e.kind = "fence" ->
             /\ Current(e.process) /\ ~service[e.from].fenced
             /\ Fence(e.from, service[e.from].down, service[e.from].active)
      [] e.kind = "fail over" -> Fence(e.from, service[e.from].down, None)
      [] e.kind = "force down" -> ForceDown(e.from)
      [] e.kind = "force up" -> ForceUp(e.from)
      [] e.kind = "delete" ->
             /\ \A n \in Nodes : owner[n] # e.from
             /\ service' = [service EXCEPT ![e.from] =
                    [@ EXCEPT !.fenced = TRUE, !.down = FALSE,
                              !.active = None]]
             /\ UNCHANGED <<owner, held, process, sent, grace>>
      [] e.kind = "write" ->
             /\ Current(e.process)
             /\ e.node # None => owner[e.node] = e.from
             /\ UNCHANGED vars

TraceNext == /\ next <= Len(History)
             /\ Step(History[next])
             /\ next' = next + 1

TraceSpec == TraceInit /\ [][TraceNext]_<<vars, next>>
============================================================================
