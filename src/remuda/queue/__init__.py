"""Queues: durable, partitioned, ordered messages, in the state of data partitions. Pure so far.

Words:
- a *queue* has *partitions*; each lies in one data partition, and is ordered by *position*;
- a *group* is to have every message; what it has done in a partition is its *progress*: all before
  the *frontier*, except for *holes*; a message that is *spent* counts as done though nobody has
  handled it;
- an *epoch* says who owns a partition for a group, a *turn* counts the group's rewinds;
- a *dead letter* is what failed for the last time; a *tree* is a message and all that handlers
  made of it.

- `model`       definitions, messages, runs
- `placement`   where partitions and keys are, for ever
- `machine`     what a data partition folds queues with; `catalog` lists the commands
- `commands/`   one file a command
- `work`, `part`, `progress`   what a command has loaded: itself, a partition, a group in it
- `arrivals`, `care`, `trees`  how messages come in, what time does to them, what they belong to
- `takeable`    what a worker may take next; `reading`: everything else that can be looked at
- `effects`     what the world is told
- `layout`, `limits`, `invariants`

What is promised, and what holds after which crash: docs/queues-state.md. May import `partition` and
what is below it.
"""
