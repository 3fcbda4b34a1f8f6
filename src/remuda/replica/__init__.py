"""The replica: what the cluster log amounts to. Pure; every peer computes the same one.

- `state`       the replica itself: who is here, who watches whom, who is being stitched in
- `command`     what a command is, and `Rejected`, its answer when it may change nothing
- `commands/`   one file a command: `apply`, `diff`, `reactions`, in this order
- `facts`       what a diff says: past tense, for people and for effects
- `entry`       commands to and from the bytes of the log
- `fold`        playing entries
- `ring`        reading the ring: who watches, who may stitch in a joiner
- `pool`        units, and who owns them
- `jobs`        jobs, and the slots that do them; `scheduling` is how they follow from each other
- `schedule/`   which slot should do which task: the plan, apart from the replica
- `invariants`  what is true of every replica that commands can produce, by name

State: members (in order of joining), the ring as watcher → watched, and two stages of joiners,
each as observer → joiner: *prepared* (an observer was picked) and *accepted* (the observer
watches the joiner, which may take its place); pools of units with their owners; what members offer
to jobs, slot by slot, and the jobs. Commands: see `commands`.

`reactions` are asked of a replica, not of an entry: they are what a peer owes as long as the
replica stands as it does. A peer that lost a proposal, or that took its replica from an origin,
therefore owes the same as one that saw every entry (docs/decisions/0003).

No clock, no randomness, no I/O, no iteration over a set, no float. May import `log` and below.
"""
