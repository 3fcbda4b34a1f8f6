"""Who should own which unit, and how it gets there. Pure; the same on every peer.

- `plan`    a pool → the moves that would balance it, each with its reason
- `count`   balance by number of units
- `load`    balance by measured load
- `placement` where every unit is and would go: what the strategies work on
- `contract` what a keeper asks of whoever runs units, and is told
- `keeper`  what one member does about one pool: a state machine without I/O
- `pace`    how fast a draining member gives its units up

Every member computes the same plan and acts only on its own part: it claims what nobody owns and
the plan gives it, and it gives up what it owns and the plan gives to another.

Crash points of a move are in docs/handoff.md. May import `replica` and below.
"""
