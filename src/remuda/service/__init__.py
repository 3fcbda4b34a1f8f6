"""Services: units of work that the cluster spreads over processes, balances and hands over.

- `api`      what a user writes: `Service`, and the `Unit` that it is given
- `runner`   runs the callbacks: sync or async, tried again when they fail
- `member`   a process in a service: `join`, `Member`
- `control`  what operators ask for: units, pegs, drains, plans

Words: a *service* is a pool of units by name; a *member* is a process that serves it; a unit is
*owned* by one member at a time, under an *epoch* that grows with every owner.

What happens to a unit, and when, is decided in `ownership`. This package only does it.
"""
