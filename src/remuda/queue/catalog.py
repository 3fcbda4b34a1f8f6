"""Every command on queues: the one place that lists them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from remuda.queue.commands.alter_group import AlterGroup
from remuda.queue.commands.alter_queue import AlterQueue
from remuda.queue.commands.attach import Attach
from remuda.queue.commands.commit import Commit
from remuda.queue.commands.create_group import CreateGroup
from remuda.queue.commands.create_queue import CreateQueue
from remuda.queue.commands.define_queue import DefineQueue
from remuda.queue.commands.deliver import Deliver
from remuda.queue.commands.discard import Discard
from remuda.queue.commands.drop_group import DropGroup
from remuda.queue.commands.fail import Fail
from remuda.queue.commands.purge import Purge
from remuda.queue.commands.replay import Replay
from remuda.queue.commands.rewind import Rewind
from remuda.queue.commands.seal_queue import SealQueue
from remuda.queue.commands.send import Send
from remuda.queue.commands.tally import Tally

AnyCommand: TypeAlias = (
    # definitions, in data partition 0
    CreateQueue
    | AlterQueue
    | SealQueue
    | CreateGroup
    | AlterGroup
    | DropGroup
    # messages
    | Send
    | Purge
    # groups
    | Attach
    | Commit
    | Fail
    | Rewind
    | Replay
    | Discard
    # between partitions
    | DefineQueue
    | Deliver
    | Tally
)

read_command = msgspec.msgpack.Decoder(AnyCommand).decode
