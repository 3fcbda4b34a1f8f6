"""The simulator: a whole cluster in one thread, every choice from one seed.

- `simulation`  the world: a clock, an event queue, ZooKeeper's sessions, processes, faults
- `zookeeper`   sessions, pulses and watches as ZooKeeper keeps them, with simulated time
- `process`     one simulated process: the real `PeerCore`, with a network that can fail it
- `units`       which units run where, by the simulation's own clock
- `drivers`     which jobs are driven where, likewise, and the store that drivers write to
- `job_process` what a process does about the jobs that its peer leads
- `faults`      what goes wrong, and when
- `checkers/`   one file an invariant, and liveness at the end
- `run`         many seeds, or the story of one: `python -m remuda.testing.run`

What is real in it: the log's entries as bytes, the replica, the commands, the peer's core. What
is simulated: time, the network, ZooKeeper's session service, processes and their deaths.
"""
