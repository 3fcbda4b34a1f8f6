"""Queues: durable, partitioned, ordered messages, in the state of data partitions.

Words:
- a *queue* has *partitions*; each lies in one data partition, and is ordered by *position*;
- a *group* is to have every message; what it has done in a partition is its *progress*: all before
  the *frontier*, except for *holes*; a message that is *spent* counts as done though nobody has
  handled it;
- an *epoch* says who owns a partition for a group, a *turn* counts the group's rewinds;
- a *dead letter* is what failed for the last time; a *tree* is a message and all that handlers
  made of it.

The fold, pure:
- `model`       definitions, messages, runs
- `placement`   where partitions and keys are, for ever
- `machine`     what a data partition folds queues with; `catalog` lists the commands
- `commands/`   one file a command
- `work`, `part`, `progress`   what a command has loaded: itself, a partition, a group in it
- `arrivals`, `care`, `trees`  how messages come in, what time does to them, what they belong to
- `takeable`    what a worker may take next; `reading`: everything else that can be looked at
- `effects`     what the world is told
- `layout`, `limits`, `invariants`

In a node:
- `gateway`     calls, and which partitions they are about: `errands`, `spreading` put them there,
                `checks` refuses; `questions`, `bell`, `taker`
- `outside`     being in a group on behalf of a client that is not in the cluster

In a program:
- `client`, `client_sync`, `sender`, `taking`, `consumer`   what it asks of nodes; `translation`

In a worker:
- `handler`, `context`   what a user writes, and is given
- `handling`, `reports`   what a worker does about one partition: a state machine without I/O
- `lane`, `crew`   one partition at work; all of a handler's in this process
- `group`, `worker`   a group as the cluster knows it; a process that is in some

What is promised, and what holds after which crash: docs/queues-state.md. May import `wire` and what
is below it.
"""
