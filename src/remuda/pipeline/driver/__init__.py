"""The process that runs a job on Spark, and the peer's hold on it.

- `messages`    what the two say to each other: JSON lines over a socket
- `supervisor`  the peer's side: starts a driver, talks to it, ends it with all that it started
- `spares`      warm drivers, kept for the next job
- `main`        the process itself, with `channel` (its side of the socket) and `lease`
- `jvm`         Spark's JVM, started without shell scripts and tethered to the driver
- `warmth`      what a driver does before it has a job, so that the job finds all classes loaded
- `sessions`    a Spark session for one job: its master, its cores, its paths
- `engine`      what the process needs of whoever knows how to run a job
- `blame`       one line that tells a user what went wrong, and where in their code
- `descendants` all processes of a session, found and killed

A driver runs one job and ends. It dies with its peer, its JVM dies with it, and Python workers die
with their JVM: each link is kept by the kernel, so that it holds under `kill -9` too.
"""
