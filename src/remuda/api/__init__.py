"""A node: what every `remuda peer` is, and the calls that it takes.

- `node`      a peer that gives cores to jobs, owns data partitions, and takes calls
- `routing`   the way to a partition, whichever node owns it
- `server`    the gRPC server, with health and reflection
- `queues`, `taking`, `cluster`, `nodes`   its services; `calls` is what they share

Any node takes any call. May import everything but `web` and `cli`.
"""
