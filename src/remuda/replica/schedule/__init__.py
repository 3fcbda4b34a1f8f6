"""Which slot does which task of which job. Pure; the same on every peer.

- `plan`        slots, jobs and how things are → how they should be, and why jobs wait
- `jobs`        how many slots each job gets: greedy, balanced, percentage
- `tasks`       how many slots each task of a job gets: balanced, percentage
- `allocate`    counts → slots, moving as few as the counts allow
- `reasons`     why a job has no slots, for people
- `demand`      what a job and its tasks ask for
- `slots`       what a node offers, and what a slot is at
- `room`        what fits at once: tags, sites, minimums and maximums, exactly
- `sites`       where the groups of colocated jobs go
- `shares`      whole numbers split evenly, or by weight
- `flow`        the small network that `room` and `allocate` ask
- `flux`        what follows for a job when one of its slots is lost
- `states`      what a slot goes through on a task; `transition` refuses every other way

A *slot* (a virtual peer) is one core that a node offers; it does at most one task. A *site* is
the node that a slot is on. A task's *count* is the number of slots that do it. A job is
*covered* when every task has its minimum, and a job that is not covered gets no slots at all: it
waits, and says what for. A *share* is what a job scheduler offers a job; what the job cannot use
of it is *spare*.

What each job gets depends on the slots that exist and on what the jobs ask for, never on how
things are; only the choice of slots does. So a cluster that went through a storm comes back to
the same numbers.

Imports nothing of the replica except `transition`, which needs its `Rejected`: the replica's
state may hold what is defined here.
"""
