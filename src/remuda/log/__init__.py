"""The cluster log: one totally ordered sequence of entries, and where to start reading it.

Words:
- a *record* is what a writer appends: an id, who wrote it, when, and a command that this
  package carries but does not look into;
- its *position* is its place in the order, from 0, without gaps;
- the *origin* is (position, state): what all entries up to that position amount to. A reader
  starts there. Entries at or below the origin may be *trimmed*.

Promises of a log, whichever kind (`port`):
1. An append that was answered wrote exactly one entry; one that was not, at most one.
2. Readers see the entries in order of position, each once, from where they start.
3. A reader that is behind the origin is given the origin, and goes on from there.
4. The origin only moves forward.

Crash points: an append is one znode, there or not. An origin's parts are written before the
pointer that names them, and the pointer before anything is trimmed; a crash between leaves
parts or entries that the next gc removes.

Kinds: `memory` (tests, the simulator), `zookeeper`. `subscription` follows either.
May import `zookeeper` and below.
"""
