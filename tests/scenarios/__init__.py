"""Scenarios: what a whole cluster says and does, as text files that read like a story.

A file holds comments (`#`), blank lines and commands, a line each. What a command brings about
stands below it, between a line `----` and the next blank line; a command without consequences
has neither. Numbered lines are entries as the log takes them, with what came of them; indented
lines are what peers do. `REWRITE=1 pytest tests/scenarios` writes what happens into the files:
read the difference before you believe it.

The peers are real cores over the log in memory (`cluster`, `peer`); `runner` reads and writes
files. Nothing moves on its own: what is proposed waits until it is delivered, and time passes only
by `advance`. Nothing is left to chance: a backoff takes its whole length, and everybody acts in
the order in which they were started.

    start a b c      peers join, one after another; nothing is shown: the stage is set
    join d           a process begins its life as d, and asks to be let in
    deliver          proposals reach the log and everybody hears what is new, until all is silent
    deliver a d      one round of that, in which only a and d speak (first) and hear (then)
    kill b c         the processes end and their pulses stop; what they had not delivered is lost
    silence b        b's pulse is deleted by hand, though b itself is well
    freeze b         b does nothing at all; its session goes on until it expires
    wake b           b goes on, and looks at its clock first
    suspend b        b has no connection: it can neither speak nor hear, but it runs
    resume b         b is connected again, to the session that it had if that one still lives
    lose b           b's session ends on the server, and b is told at once
    leave b          b is asked to leave the cluster
    advance 2.5      seconds pass: heartbeats are answered, deadlines come, sessions expire
    gc               an operator collects the log: whoever can hear it does, then the entries go
    log              the entries that are in the log
    ring             the ring as the log has it, and who is being stitched in
    watches          whose pulses each peer watches
    work             who may do exclusively owned work

A session lasts 10 s from the last heartbeat, work stops 8 s after it; heartbeats are 2.5 s apart.
A joiner waits 5 s for its observer; one that is turned away waits for 1, 2, 4, then 8 s. `gc-at 6`,
as the first command, has the log collected when it is 6 entries long.
"""
