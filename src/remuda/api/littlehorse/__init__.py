"""LittleHorse's service on a node: any of its clients, in any language, works against Remuda.

- `service`    every call of the protocol: its handler, or UNIMPLEMENTED with its name
- `callers`    who calls, for which tenant, and whether that is allowed
- `handlers`   what a handler is given
- `definitions`, `runs`, `events`, `user_tasks`, `workers`, `tenants`   the handlers, by noun
- `listing`    pages of what was found, and their bookmarks
- `polling`    streams of workers that wait for tasks

The engine behind it is `remuda.workflow`; how errors become codes is `remuda.wire.status`.
"""
