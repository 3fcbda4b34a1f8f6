"""Everything that can go wrong, in one tree.

Each error is one line that says what happened, to what, and what the user can do. The CLI
prints exactly that line and exits with `exit_code`; nothing below `cli/` prints.
"""


class RemudaError(Exception):
    """The root: catch this to catch everything that Remuda raises on purpose."""

    exit_code = 1


class BadConfig(RemudaError):
    """An option has a value that it cannot have."""

    exit_code = 2


# ── the machine ──────────────────────────────────────────────────────────────────────────────


class NoJava(RemudaError):
    """The embedded ZooKeeper needs Java 17 or later, and there is none."""


class PortInUse(RemudaError):
    """Somebody else listens on the port that was asked for."""


class DataDirUnusable(RemudaError):
    """The data directory cannot be created, written, or is in use by another cluster."""


class ServerFailed(RemudaError):
    """The embedded ZooKeeper did not start, or ended while it was needed."""


# ── ZooKeeper ────────────────────────────────────────────────────────────────────────────────


class BadAddress(RemudaError):
    """A ZooKeeper address that cannot be read."""

    exit_code = 2


class Unreachable(RemudaError):
    """No ZooKeeper server answers at the address."""


class ChrootMissing(RemudaError):
    """The address names a chroot that does not exist."""


class AccessDenied(RemudaError):
    """ZooKeeper refuses the credentials, or an ACL forbids the operation."""


class Disconnected(RemudaError):
    """The connection was lost before the answer came: what was asked may have happened or not."""


class SessionLost(RemudaError):
    """The ZooKeeper session has expired: what this process was, the cluster has forgotten."""


# ── the cluster log ──────────────────────────────────────────────────────────────────────────


class EntryTooLarge(RemudaError):
    """A command does not fit into one entry of the log."""


class CorruptEntry(RemudaError):
    """An entry is not what any build of Remuda writes."""


class UnknownEntry(RemudaError):
    """An entry was written by a newer build of Remuda than this one."""


class MissingEntry(RemudaError):
    """An entry that was written and not collected is not there: somebody deleted it."""


class Collected(RemudaError):
    """The entries that were asked for have been garbage-collected."""

    def __init__(self, message: str, origin: int) -> None:
        super().__init__(message)
        self.origin = origin


class AppendUncertain(RemudaError):
    """An append was cut off, and a gc has since removed the part of the log that would tell."""


# ── the replica ──────────────────────────────────────────────────────────────────────────────


class InvariantBroken(RemudaError):
    """The replica is in a state that the commands can never produce: a bug, so the peer stops."""


class Refused(RemudaError):
    """The cluster has looked at a request and rejected it; nothing was changed."""


class NotAllowed(RemudaError):
    """Whoever calls does not have the right to."""


class Unknown(RemudaError):
    """A service, unit or peer that the cluster does not know."""


class Uncertain(RemudaError):
    """The answer was lost: what was asked may have happened or not, and is not asked again."""


# ── partitions ───────────────────────────────────────────────────────────────────────────────


class Busy(RemudaError):
    """More is waiting for a partition than it takes: try again, more slowly."""


class CommandRejected(Refused):
    """A partition has looked at a command and rejected it; nothing was changed."""

    def __init__(self, message: str, kind: str = "precondition") -> None:
        super().__init__(message)
        self.kind = kind


class NotServed(RemudaError):
    """Nobody serves the partition here at the moment: ask its owner, or again a little later."""


class StaleEpoch(NotServed):
    """A later owner has opened the partition: this one may not write to it any more."""


class StoreLocked(NotServed):
    """Another process has the partition's store open."""


class DiskFull(RemudaError):
    """There is no room for what was to be written; the partition goes on when there is."""


class StoreFailed(RemudaError):
    """The disk under a partition failed: what was being written may be there or not."""


class StoreCorrupt(RemudaError):
    """A partition's store is not as it was written."""


class UnknownMachine(RemudaError):
    """A partition has commands of a kind that this build does not know."""


class MachineFailed(RemudaError):
    """A machine raised while it applied a command: a bug, so the partition stops."""


# ── queues ───────────────────────────────────────────────────────────────────────────────────


class BadMessage(RemudaError):
    """A message that cannot be sent as it is."""


class GiveUp(RemudaError):
    """A handler raises this when trying again is of no use: the message is dead at once."""
