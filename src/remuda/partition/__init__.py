"""Durable, ordered commands and the state they fold into, with one owner at a time.

Words:
- a *partition* is a log of commands and an ordered map of bytes, the *state*;
- a *machine* folds commands into the state: queues are one, workflows another;
- a *round* is what is written at once: some commands, what they changed, and one sync;
- an *overlay* is what rounds have changed and the disk does not have yet;
- a *timer* is state that the clock wakes, the *outbox* is state that is sent to other partitions;
- an *effect* is a hint to the world, given when what caused it is durable.

`machine` is the contract that a machine meets, `keys` builds its keys, `fold` and `overlay` are
pure; `store` is the port to disk, `rocks` and `memory` are behind it. `runtime` runs one
partition, `hosting` those that a node owns. Decision 9 says why it is so.

May import `peer` and what is below it.
"""
