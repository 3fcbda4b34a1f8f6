"""The command line: one file a verb.

- `main`      the app, and how an error becomes one line and an exit code
- `options`   flags made from the table in `config`
- `output`    human output by default, JSON with `--json`
- `view`      a cluster drawn for people
- `live`      a running cluster, shown as it changes
- the verbs: `up` (with `detach`), `down`, `peer`, `serve`, `status`, `log`, `gc`, `units`,
  `service`, `plan` (and `rebalance`), `drain`, `demo`
"""
