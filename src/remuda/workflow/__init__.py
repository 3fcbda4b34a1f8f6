"""A durable workflow engine behind LittleHorse's protocol: the pure part, and what drives it.

Words:
- a *definition* is put once: a WfSpec, a TaskDef, an event's or a struct's definition;
- a *run* is a WfRun: threads, each of which is at one *node* at a time;
- a *task run* is work for a worker, tried in *attempts*;
- to *advance* a run is to take it as far as it goes without waiting;
- a thread *stands still* (HALTED) for reasons, and goes on when the last of them is gone.

Where to look:
- `machine` is what a partition folds commands with; `commands` lists ours, `calls` those of the
  protocol, `due` what timers do, `effects` what the world is told;
- `advance` is the core loop, and `nodes` what each kind of node does;
- `threads`, `halts`, `interrupts`, `rescue`, `tasks`, `events`, `user_tasks`, `runs`, `schedules`
  are what their names say; `definitions` and `data` have their own pages;
- `keys` says where everything is; `tags` and `searches` how it is found; `readers` what is shown;
- `placement` says which partition has what; `invariants` what is always true;
- `access` is who may do what: tenants and principals.

Around the pure part, in the event loop of a node: `gateway` puts calls to the partition that they
are for (`homes`) and asks it `questions`; `dispatch` brings tasks and polls together;
`announcements` wakes whoever waits for an effect. The calls themselves come in by
`remuda.api.littlehorse`.

State: every object is stored as the protocol's own message, serialised deterministically, under a
key with its tenant, and its run right after that. A run's parts and its children are in one
partition. Definitions are in all of them, so that a command needs nothing but its own state.

One command is one step of the fold. `Work` holds the objects that it touches; they are written
once, at its end, with their tags. Time is the stamp's, ids come with the command or are derived
from its place in the log, and nothing depends on the order of a map. What a spec gets wrong is a
failure in its run; what a client gets wrong is a rejection, which changes nothing.

When a node dies, at every point what is in the state decides:
- after a claim and before delivery: the attempt is TASK_RUNNING. The claim is undone when the
  owner knows that the stream is gone, or the attempt times out. It is never given out twice;
- between a report and the advance: there is no between, they are one command. A worker that got no
  answer reports again, and the second report changes nothing;
- before a timer: it is in the state, and the next owner's clock finds it;
- before an effect: `opened` tells the next owner what waits for workers; what was thrown is read;
- before a command reaches another partition: it is in the outbox, and arrives once, in order.

A worker that dies in the middle of a task is found by the time-out, which runs from the claim.

May import `partition` and what is below it.
"""
