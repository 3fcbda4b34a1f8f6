"""The benchmarks: how fast Remuda is here, with real processes and a real ZooKeeper.

`make bench` runs all of them; `python -m bench NAME…` those that are named. What each one showed
when it was last looked at is in `docs/benchmarks.md`.

Words:
- a *figure* is a number with a unit, and maybe a *bar* that it should meet;
- a bar that is *missed* is said so and is no failure: benchmarks are not tests;
- what is *wrong* (an entry lost, a ring that does not close) is a failure, whatever the figures.

One module a benchmark, each with `run` and with the seconds it may take, `LIMIT_S`. They share
`stage`: the sheet of figures, a cluster to measure, and a log to fill.
"""
