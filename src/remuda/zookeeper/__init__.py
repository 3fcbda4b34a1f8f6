"""ZooKeeper: the one place that speaks to it, and the server that comes along.

- `address`     what a user writes after `--zookeeper`, taken apart and checked
- `locate`      which ensemble a configuration means
- `connection`  an asyncio face over kazoo; the only module that imports it
- `multi_read`  the one request of ZooKeeper's that kazoo lacks and a replay lives by
- `server`      a real ZooKeeper server as a child process, from the jars in PySpark's wheel;
                `java`, `ports`, `lock`, `zoo_cfg` and `server_log` are its parts
- `ensemble`    several of them as one ensemble
- `tether`      how a child process ends with its parent, whatever ends the parent

This package knows znodes, sessions and watches. It knows nothing of logs, replicas or peers,
and may import only `errors`, `config` and `clock`.
"""
