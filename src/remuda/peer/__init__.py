"""A peer: it plays the log, reacts to it, and does what the replica gives it to do.

- `core`     what a peer decides: a state machine without any I/O, run by the simulator as is
- `effects`  what it asks of whoever runs it
- `backoff`  how long a joiner waits before it asks again
- `life`     one life of a peer on ZooKeeper: pulse, watches, heartbeats, proposals
- `runtime`  lives one after another, each with a new id, until it is told to leave
- `job_keeper`, `job_contract`  what it does about jobs, and what it asks and hears of drivers
- `worker`, `job_worker`  who runs the units and drives the jobs that are this peer's
- `hooks`    everything that happens to a peer, for who wants to know
- `observer` looking at a cluster without being part of it
- `names`    ids that people can tell apart

State of a core: its replica; which pulses it watches and which it has seen stop; its proposals
in flight; when its lease on the session ends; when it may ask to join again; what its keepers of
units and jobs know.

Obligations:
- It proposes and starts nothing while the connection is suspended.
- It stops all exclusively owned work before the session can expire on the server, counted from
  the last heartbeat that was answered. This is what makes a takeover safe.
- When the session is lost, the life is over: replica, watches and proposals are dropped, and the
  next life has a new id. Nothing of the old one is ever sent.

Crash points: before the pulse is made, nobody knew it. After its `prepare-join` is written, its
observer watches it, finds no pulse, and reports it. As a member, its watcher does. With its
watcher dead too, the next one back in the ring does, because it checks each pulse before it
relies on it. A proposal that was under way is in the log whole or not at all, and if it is, it
is judged by `apply` like any other.

May import `replica`, `log` and below.
"""
