from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Blocks(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PARTITION: _ClassVar[Blocks]
    KEY: _ClassVar[Blocks]
PARTITION: Blocks
KEY: Blocks

class Retry(_message.Message):
    __slots__ = ("max_attempts", "blocks", "first_ms", "most_ms", "factor_percent", "dead_letters")
    MAX_ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    BLOCKS_FIELD_NUMBER: _ClassVar[int]
    FIRST_MS_FIELD_NUMBER: _ClassVar[int]
    MOST_MS_FIELD_NUMBER: _ClassVar[int]
    FACTOR_PERCENT_FIELD_NUMBER: _ClassVar[int]
    DEAD_LETTERS_FIELD_NUMBER: _ClassVar[int]
    max_attempts: int
    blocks: Blocks
    first_ms: int
    most_ms: int
    factor_percent: int
    dead_letters: bool
    def __init__(self, max_attempts: _Optional[int] = ..., blocks: _Optional[_Union[Blocks, str]] = ..., first_ms: _Optional[int] = ..., most_ms: _Optional[int] = ..., factor_percent: _Optional[int] = ..., dead_letters: bool = ...) -> None: ...

class Settings(_message.Message):
    __slots__ = ("body_bytes_max", "keep_count", "keep_ms", "backlog_max", "retry", "dedup_ms", "dedup_count", "ttl_ms", "producer_keep_ms", "tree_replays_max", "tree_keep_ms")
    BODY_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    KEEP_COUNT_FIELD_NUMBER: _ClassVar[int]
    KEEP_MS_FIELD_NUMBER: _ClassVar[int]
    BACKLOG_MAX_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    DEDUP_MS_FIELD_NUMBER: _ClassVar[int]
    DEDUP_COUNT_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_KEEP_MS_FIELD_NUMBER: _ClassVar[int]
    TREE_REPLAYS_MAX_FIELD_NUMBER: _ClassVar[int]
    TREE_KEEP_MS_FIELD_NUMBER: _ClassVar[int]
    body_bytes_max: int
    keep_count: int
    keep_ms: int
    backlog_max: int
    retry: Retry
    dedup_ms: int
    dedup_count: int
    ttl_ms: int
    producer_keep_ms: int
    tree_replays_max: int
    tree_keep_ms: int
    def __init__(self, body_bytes_max: _Optional[int] = ..., keep_count: _Optional[int] = ..., keep_ms: _Optional[int] = ..., backlog_max: _Optional[int] = ..., retry: _Optional[_Union[Retry, _Mapping]] = ..., dedup_ms: _Optional[int] = ..., dedup_count: _Optional[int] = ..., ttl_ms: _Optional[int] = ..., producer_keep_ms: _Optional[int] = ..., tree_replays_max: _Optional[int] = ..., tree_keep_ms: _Optional[int] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("from_next", "retry")
    FROM_NEXT_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    from_next: bool
    retry: Retry
    def __init__(self, from_next: bool = ..., retry: _Optional[_Union[Retry, _Mapping]] = ...) -> None: ...

class Queue(_message.Message):
    __slots__ = ("name", "parts", "settings", "groups", "version", "grown", "sealed")
    class GroupsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Group
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Group, _Mapping]] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    GROWN_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    name: str
    parts: int
    settings: Settings
    groups: _containers.MessageMap[str, Group]
    version: int
    grown: int
    sealed: bool
    def __init__(self, name: _Optional[str] = ..., parts: _Optional[int] = ..., settings: _Optional[_Union[Settings, _Mapping]] = ..., groups: _Optional[_Mapping[str, Group]] = ..., version: _Optional[int] = ..., grown: _Optional[int] = ..., sealed: bool = ...) -> None: ...

class CreateRequest(_message.Message):
    __slots__ = ("queue", "parts", "settings")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    queue: str
    parts: int
    settings: Settings
    def __init__(self, queue: _Optional[str] = ..., parts: _Optional[int] = ..., settings: _Optional[_Union[Settings, _Mapping]] = ...) -> None: ...

class AlterRequest(_message.Message):
    __slots__ = ("queue", "parts", "settings", "if_version")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    IF_VERSION_FIELD_NUMBER: _ClassVar[int]
    queue: str
    parts: int
    settings: Settings
    if_version: int
    def __init__(self, queue: _Optional[str] = ..., parts: _Optional[int] = ..., settings: _Optional[_Union[Settings, _Mapping]] = ..., if_version: _Optional[int] = ...) -> None: ...

class GetRequest(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    def __init__(self, queue: _Optional[str] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("after", "limit")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    after: str
    limit: int
    def __init__(self, after: _Optional[str] = ..., limit: _Optional[int] = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("queues",)
    QUEUES_FIELD_NUMBER: _ClassVar[int]
    queues: _containers.RepeatedCompositeFieldContainer[Queue]
    def __init__(self, queues: _Optional[_Iterable[_Union[Queue, _Mapping]]] = ...) -> None: ...

class SealRequest(_message.Message):
    __slots__ = ("queue",)
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    def __init__(self, queue: _Optional[str] = ...) -> None: ...

class CreateGroupRequest(_message.Message):
    __slots__ = ("queue", "group", "definition")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    queue: str
    group: str
    definition: Group
    def __init__(self, queue: _Optional[str] = ..., group: _Optional[str] = ..., definition: _Optional[_Union[Group, _Mapping]] = ...) -> None: ...

class AlterGroupRequest(_message.Message):
    __slots__ = ("queue", "group", "retry")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    queue: str
    group: str
    retry: Retry
    def __init__(self, queue: _Optional[str] = ..., group: _Optional[str] = ..., retry: _Optional[_Union[Retry, _Mapping]] = ...) -> None: ...

class DropGroupRequest(_message.Message):
    __slots__ = ("queue", "group")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    queue: str
    group: str
    def __init__(self, queue: _Optional[str] = ..., group: _Optional[str] = ...) -> None: ...

class NewMessage(_message.Message):
    __slots__ = ("body", "key", "headers", "dedup", "delay_ms", "ttl_ms", "track_ms")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    BODY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    DEDUP_FIELD_NUMBER: _ClassVar[int]
    DELAY_MS_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    TRACK_MS_FIELD_NUMBER: _ClassVar[int]
    body: bytes
    key: str
    headers: _containers.ScalarMap[str, str]
    dedup: str
    delay_ms: int
    ttl_ms: int
    track_ms: int
    def __init__(self, body: _Optional[bytes] = ..., key: _Optional[str] = ..., headers: _Optional[_Mapping[str, str]] = ..., dedup: _Optional[str] = ..., delay_ms: _Optional[int] = ..., ttl_ms: _Optional[int] = ..., track_ms: _Optional[int] = ...) -> None: ...

class Failure(_message.Message):
    __slots__ = ("at_ms", "attempt", "error")
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    at_ms: int
    attempt: int
    error: str
    def __init__(self, at_ms: _Optional[int] = ..., attempt: _Optional[int] = ..., error: _Optional[str] = ...) -> None: ...

class Message(_message.Message):
    __slots__ = ("body", "key", "headers", "dedup", "sent_ms", "expires_ms", "tracked", "only", "failures")
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    BODY_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    DEDUP_FIELD_NUMBER: _ClassVar[int]
    SENT_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    TRACKED_FIELD_NUMBER: _ClassVar[int]
    ONLY_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    body: bytes
    key: str
    headers: _containers.ScalarMap[str, str]
    dedup: str
    sent_ms: int
    expires_ms: int
    tracked: bool
    only: str
    failures: _containers.RepeatedCompositeFieldContainer[Failure]
    def __init__(self, body: _Optional[bytes] = ..., key: _Optional[str] = ..., headers: _Optional[_Mapping[str, str]] = ..., dedup: _Optional[str] = ..., sent_ms: _Optional[int] = ..., expires_ms: _Optional[int] = ..., tracked: bool = ..., only: _Optional[str] = ..., failures: _Optional[_Iterable[_Union[Failure, _Mapping]]] = ...) -> None: ...

class SendRequest(_message.Message):
    __slots__ = ("queue", "messages", "part", "producer", "sequence", "version")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    queue: str
    messages: _containers.RepeatedCompositeFieldContainer[NewMessage]
    part: int
    producer: str
    sequence: int
    version: int
    def __init__(self, queue: _Optional[str] = ..., messages: _Optional[_Iterable[_Union[NewMessage, _Mapping]]] = ..., part: _Optional[int] = ..., producer: _Optional[str] = ..., sequence: _Optional[int] = ..., version: _Optional[int] = ...) -> None: ...

class SendResponse(_message.Message):
    __slots__ = ("parts", "positions", "trees", "duplicates")
    PARTS_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    TREES_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.RepeatedScalarFieldContainer[int]
    positions: _containers.RepeatedScalarFieldContainer[int]
    trees: _containers.RepeatedScalarFieldContainer[int]
    duplicates: int
    def __init__(self, parts: _Optional[_Iterable[int]] = ..., positions: _Optional[_Iterable[int]] = ..., trees: _Optional[_Iterable[int]] = ..., duplicates: _Optional[int] = ...) -> None: ...

class SendStreamRequest(_message.Message):
    __slots__ = ("id", "send")
    ID_FIELD_NUMBER: _ClassVar[int]
    SEND_FIELD_NUMBER: _ClassVar[int]
    id: int
    send: SendRequest
    def __init__(self, id: _Optional[int] = ..., send: _Optional[_Union[SendRequest, _Mapping]] = ...) -> None: ...

class SendStreamResponse(_message.Message):
    __slots__ = ("id", "sent", "problem")
    ID_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    id: int
    sent: SendResponse
    problem: Problem
    def __init__(self, id: _Optional[int] = ..., sent: _Optional[_Union[SendResponse, _Mapping]] = ..., problem: _Optional[_Union[Problem, _Mapping]] = ...) -> None: ...

class Problem(_message.Message):
    __slots__ = ("code", "error", "message")
    CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    code: int
    error: str
    message: str
    def __init__(self, code: _Optional[int] = ..., error: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class Positioned(_message.Message):
    __slots__ = ("position", "message")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    position: int
    message: Message
    def __init__(self, position: _Optional[int] = ..., message: _Optional[_Union[Message, _Mapping]] = ...) -> None: ...

class PeekRequest(_message.Message):
    __slots__ = ("queue", "part", "start", "limit")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    queue: str
    part: int
    start: int
    limit: int
    def __init__(self, queue: _Optional[str] = ..., part: _Optional[int] = ..., start: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class PeekResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[Positioned]
    def __init__(self, messages: _Optional[_Iterable[_Union[Positioned, _Mapping]]] = ...) -> None: ...

class PurgeRequest(_message.Message):
    __slots__ = ("queue", "part")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    queue: str
    part: int
    def __init__(self, queue: _Optional[str] = ..., part: _Optional[int] = ...) -> None: ...

class PurgeResponse(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: int
    def __init__(self, messages: _Optional[int] = ...) -> None: ...

class StatsRequest(_message.Message):
    __slots__ = ("queue", "part")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    queue: str
    part: int
    def __init__(self, queue: _Optional[str] = ..., part: _Optional[int] = ...) -> None: ...

class StatsResponse(_message.Message):
    __slots__ = ("parts",)
    class PartsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: PartStats
        def __init__(self, key: _Optional[int] = ..., value: _Optional[_Union[PartStats, _Mapping]] = ...) -> None: ...
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: _containers.MessageMap[int, PartStats]
    def __init__(self, parts: _Optional[_Mapping[int, PartStats]] = ...) -> None: ...

class PartStats(_message.Message):
    __slots__ = ("depth", "kept", "delayed", "next", "first", "oldest_ms", "trees", "sent", "sent_bytes", "duplicates", "expired", "purged", "trees_done", "trees_failed", "tree_replays", "groups")
    class GroupsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: GroupStats
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[GroupStats, _Mapping]] = ...) -> None: ...
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    OLDEST_MS_FIELD_NUMBER: _ClassVar[int]
    TREES_FIELD_NUMBER: _ClassVar[int]
    SENT_FIELD_NUMBER: _ClassVar[int]
    SENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    DUPLICATES_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    PURGED_FIELD_NUMBER: _ClassVar[int]
    TREES_DONE_FIELD_NUMBER: _ClassVar[int]
    TREES_FAILED_FIELD_NUMBER: _ClassVar[int]
    TREE_REPLAYS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    depth: int
    kept: int
    delayed: int
    next: int
    first: int
    oldest_ms: int
    trees: int
    sent: int
    sent_bytes: int
    duplicates: int
    expired: int
    purged: int
    trees_done: int
    trees_failed: int
    tree_replays: int
    groups: _containers.MessageMap[str, GroupStats]
    def __init__(self, depth: _Optional[int] = ..., kept: _Optional[int] = ..., delayed: _Optional[int] = ..., next: _Optional[int] = ..., first: _Optional[int] = ..., oldest_ms: _Optional[int] = ..., trees: _Optional[int] = ..., sent: _Optional[int] = ..., sent_bytes: _Optional[int] = ..., duplicates: _Optional[int] = ..., expired: _Optional[int] = ..., purged: _Optional[int] = ..., trees_done: _Optional[int] = ..., trees_failed: _Optional[int] = ..., tree_replays: _Optional[int] = ..., groups: _Optional[_Mapping[str, GroupStats]] = ...) -> None: ...

class GroupStats(_message.Message):
    __slots__ = ("lag", "retrying", "dead", "committed", "oldest_ms", "ended", "owner_epoch", "done", "failed", "expired", "dropped", "died", "replayed")
    LAG_FIELD_NUMBER: _ClassVar[int]
    RETRYING_FIELD_NUMBER: _ClassVar[int]
    DEAD_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    OLDEST_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    OWNER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    DIED_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    lag: int
    retrying: int
    dead: int
    committed: int
    oldest_ms: int
    ended: bool
    owner_epoch: int
    done: int
    failed: int
    expired: int
    dropped: int
    died: int
    replayed: int
    def __init__(self, lag: _Optional[int] = ..., retrying: _Optional[int] = ..., dead: _Optional[int] = ..., committed: _Optional[int] = ..., oldest_ms: _Optional[int] = ..., ended: bool = ..., owner_epoch: _Optional[int] = ..., done: _Optional[int] = ..., failed: _Optional[int] = ..., expired: _Optional[int] = ..., dropped: _Optional[int] = ..., died: _Optional[int] = ..., replayed: _Optional[int] = ...) -> None: ...

class AwaitTreeRequest(_message.Message):
    __slots__ = ("queue", "part", "tree")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    TREE_FIELD_NUMBER: _ClassVar[int]
    queue: str
    part: int
    tree: int
    def __init__(self, queue: _Optional[str] = ..., part: _Optional[int] = ..., tree: _Optional[int] = ...) -> None: ...

class Tree(_message.Message):
    __slots__ = ("outcome", "replays")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REPLAYS_FIELD_NUMBER: _ClassVar[int]
    outcome: str
    replays: int
    def __init__(self, outcome: _Optional[str] = ..., replays: _Optional[int] = ...) -> None: ...

class RewindRequest(_message.Message):
    __slots__ = ("queue", "group", "part", "position", "time_ms")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    TIME_MS_FIELD_NUMBER: _ClassVar[int]
    queue: str
    group: str
    part: int
    position: int
    time_ms: int
    def __init__(self, queue: _Optional[str] = ..., group: _Optional[str] = ..., part: _Optional[int] = ..., position: _Optional[int] = ..., time_ms: _Optional[int] = ...) -> None: ...

class RewindResponse(_message.Message):
    __slots__ = ("positions",)
    class PositionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: int
        def __init__(self, key: _Optional[int] = ..., value: _Optional[int] = ...) -> None: ...
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    positions: _containers.ScalarMap[int, int]
    def __init__(self, positions: _Optional[_Mapping[int, int]] = ...) -> None: ...

class DeadLettersRequest(_message.Message):
    __slots__ = ("queue", "group", "part", "start", "limit")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    queue: str
    group: str
    part: int
    start: int
    limit: int
    def __init__(self, queue: _Optional[str] = ..., group: _Optional[str] = ..., part: _Optional[int] = ..., start: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class DeadLetter(_message.Message):
    __slots__ = ("number", "position", "died_ms", "message")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    DIED_MS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    number: int
    position: int
    died_ms: int
    message: Message
    def __init__(self, number: _Optional[int] = ..., position: _Optional[int] = ..., died_ms: _Optional[int] = ..., message: _Optional[_Union[Message, _Mapping]] = ...) -> None: ...

class DeadLettersResponse(_message.Message):
    __slots__ = ("letters",)
    LETTERS_FIELD_NUMBER: _ClassVar[int]
    letters: _containers.RepeatedCompositeFieldContainer[DeadLetter]
    def __init__(self, letters: _Optional[_Iterable[_Union[DeadLetter, _Mapping]]] = ...) -> None: ...

class LettersRequest(_message.Message):
    __slots__ = ("queue", "group", "part", "numbers", "most")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    queue: str
    group: str
    part: int
    numbers: _containers.RepeatedScalarFieldContainer[int]
    most: int
    def __init__(self, queue: _Optional[str] = ..., group: _Optional[str] = ..., part: _Optional[int] = ..., numbers: _Optional[_Iterable[int]] = ..., most: _Optional[int] = ...) -> None: ...

class LettersResponse(_message.Message):
    __slots__ = ("letters", "left")
    LETTERS_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    letters: int
    left: int
    def __init__(self, letters: _Optional[int] = ..., left: _Optional[int] = ...) -> None: ...

class TakeRequest(_message.Message):
    __slots__ = ("open", "credit", "commit", "fail", "release")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    FAIL_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    open: Open
    credit: Credit
    commit: Commit
    fail: Fail
    release: Release
    def __init__(self, open: _Optional[_Union[Open, _Mapping]] = ..., credit: _Optional[_Union[Credit, _Mapping]] = ..., commit: _Optional[_Union[Commit, _Mapping]] = ..., fail: _Optional[_Union[Fail, _Mapping]] = ..., release: _Optional[_Union[Release, _Mapping]] = ...) -> None: ...

class Open(_message.Message):
    __slots__ = ("queue", "part", "group", "epoch", "credit", "held")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    queue: str
    part: int
    group: str
    epoch: int
    credit: int
    held: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, queue: _Optional[str] = ..., part: _Optional[int] = ..., group: _Optional[str] = ..., epoch: _Optional[int] = ..., credit: _Optional[int] = ..., held: _Optional[_Iterable[int]] = ...) -> None: ...

class Credit(_message.Message):
    __slots__ = ("more",)
    MORE_FIELD_NUMBER: _ClassVar[int]
    more: int
    def __init__(self, more: _Optional[int] = ...) -> None: ...

class Release(_message.Message):
    __slots__ = ("positions",)
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    positions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, positions: _Optional[_Iterable[int]] = ...) -> None: ...

class Range(_message.Message):
    __slots__ = ("first", "end")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    first: int
    end: int
    def __init__(self, first: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Emit(_message.Message):
    __slots__ = ("by", "queue", "part", "message", "untracked")
    BY_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    UNTRACKED_FIELD_NUMBER: _ClassVar[int]
    by: int
    queue: str
    part: int
    message: NewMessage
    untracked: bool
    def __init__(self, by: _Optional[int] = ..., queue: _Optional[str] = ..., part: _Optional[int] = ..., message: _Optional[_Union[NewMessage, _Mapping]] = ..., untracked: bool = ...) -> None: ...

class Commit(_message.Message):
    __slots__ = ("id", "turn", "done", "emits")
    ID_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    EMITS_FIELD_NUMBER: _ClassVar[int]
    id: int
    turn: int
    done: _containers.RepeatedCompositeFieldContainer[Range]
    emits: _containers.RepeatedCompositeFieldContainer[Emit]
    def __init__(self, id: _Optional[int] = ..., turn: _Optional[int] = ..., done: _Optional[_Iterable[_Union[Range, _Mapping]]] = ..., emits: _Optional[_Iterable[_Union[Emit, _Mapping]]] = ...) -> None: ...

class Fail(_message.Message):
    __slots__ = ("id", "turn", "position", "attempt", "error", "final")
    ID_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    id: int
    turn: int
    position: int
    attempt: int
    error: str
    final: bool
    def __init__(self, id: _Optional[int] = ..., turn: _Optional[int] = ..., position: _Optional[int] = ..., attempt: _Optional[int] = ..., error: _Optional[str] = ..., final: bool = ...) -> None: ...

class TakeResponse(_message.Message):
    __slots__ = ("attached", "batch", "answer")
    ATTACHED_FIELD_NUMBER: _ClassVar[int]
    BATCH_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    attached: Attached
    batch: Batch
    answer: Answer
    def __init__(self, attached: _Optional[_Union[Attached, _Mapping]] = ..., batch: _Optional[_Union[Batch, _Mapping]] = ..., answer: _Optional[_Union[Answer, _Mapping]] = ...) -> None: ...

class Attached(_message.Message):
    __slots__ = ("turn", "committed", "next")
    TURN_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    NEXT_FIELD_NUMBER: _ClassVar[int]
    turn: int
    committed: int
    next: int
    def __init__(self, turn: _Optional[int] = ..., committed: _Optional[int] = ..., next: _Optional[int] = ...) -> None: ...

class Taken(_message.Message):
    __slots__ = ("position", "attempt", "message")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    position: int
    attempt: int
    message: Message
    def __init__(self, position: _Optional[int] = ..., attempt: _Optional[int] = ..., message: _Optional[_Union[Message, _Mapping]] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("turn", "taken", "ended")
    TURN_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    turn: int
    taken: _containers.RepeatedCompositeFieldContainer[Taken]
    ended: bool
    def __init__(self, turn: _Optional[int] = ..., taken: _Optional[_Iterable[_Union[Taken, _Mapping]]] = ..., ended: bool = ...) -> None: ...

class Answer(_message.Message):
    __slots__ = ("id", "committed", "failed", "problem")
    ID_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    id: int
    committed: Committed
    failed: Failed
    problem: Problem
    def __init__(self, id: _Optional[int] = ..., committed: _Optional[_Union[Committed, _Mapping]] = ..., failed: _Optional[_Union[Failed, _Mapping]] = ..., problem: _Optional[_Union[Problem, _Mapping]] = ...) -> None: ...

class Committed(_message.Message):
    __slots__ = ("committed", "freed", "ended")
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    FREED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    committed: int
    freed: bool
    ended: bool
    def __init__(self, committed: _Optional[int] = ..., freed: bool = ..., ended: bool = ...) -> None: ...

class Failed(_message.Message):
    __slots__ = ("attempts", "retry_ms")
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    RETRY_MS_FIELD_NUMBER: _ClassVar[int]
    attempts: int
    retry_ms: int
    def __init__(self, attempts: _Optional[int] = ..., retry_ms: _Optional[int] = ...) -> None: ...

class ConsumeRequest(_message.Message):
    __slots__ = ("join", "credit", "done", "undone")
    JOIN_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    UNDONE_FIELD_NUMBER: _ClassVar[int]
    join: Join
    credit: Credit
    done: Done
    undone: Undone
    def __init__(self, join: _Optional[_Union[Join, _Mapping]] = ..., credit: _Optional[_Union[Credit, _Mapping]] = ..., done: _Optional[_Union[Done, _Mapping]] = ..., undone: _Optional[_Union[Undone, _Mapping]] = ...) -> None: ...

class Join(_message.Message):
    __slots__ = ("queue", "group", "credit", "definition")
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    CREDIT_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    queue: str
    group: str
    credit: int
    definition: Group
    def __init__(self, queue: _Optional[str] = ..., group: _Optional[str] = ..., credit: _Optional[int] = ..., definition: _Optional[_Union[Group, _Mapping]] = ...) -> None: ...

class Done(_message.Message):
    __slots__ = ("id", "deliveries", "emits")
    ID_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    EMITS_FIELD_NUMBER: _ClassVar[int]
    id: int
    deliveries: _containers.RepeatedScalarFieldContainer[int]
    emits: _containers.RepeatedCompositeFieldContainer[OutsideEmit]
    def __init__(self, id: _Optional[int] = ..., deliveries: _Optional[_Iterable[int]] = ..., emits: _Optional[_Iterable[_Union[OutsideEmit, _Mapping]]] = ...) -> None: ...

class OutsideEmit(_message.Message):
    __slots__ = ("delivery", "queue", "message", "untracked")
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    QUEUE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    UNTRACKED_FIELD_NUMBER: _ClassVar[int]
    delivery: int
    queue: str
    message: NewMessage
    untracked: bool
    def __init__(self, delivery: _Optional[int] = ..., queue: _Optional[str] = ..., message: _Optional[_Union[NewMessage, _Mapping]] = ..., untracked: bool = ...) -> None: ...

class Undone(_message.Message):
    __slots__ = ("id", "delivery", "error", "final")
    ID_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    id: int
    delivery: int
    error: str
    final: bool
    def __init__(self, id: _Optional[int] = ..., delivery: _Optional[int] = ..., error: _Optional[str] = ..., final: bool = ...) -> None: ...

class ConsumeResponse(_message.Message):
    __slots__ = ("joined", "deliveries", "revoked", "settled", "ended")
    JOINED_FIELD_NUMBER: _ClassVar[int]
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    SETTLED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    joined: Joined
    deliveries: Deliveries
    revoked: Revoked
    settled: Settled
    ended: Ended
    def __init__(self, joined: _Optional[_Union[Joined, _Mapping]] = ..., deliveries: _Optional[_Union[Deliveries, _Mapping]] = ..., revoked: _Optional[_Union[Revoked, _Mapping]] = ..., settled: _Optional[_Union[Settled, _Mapping]] = ..., ended: _Optional[_Union[Ended, _Mapping]] = ...) -> None: ...

class Joined(_message.Message):
    __slots__ = ("peer",)
    PEER_FIELD_NUMBER: _ClassVar[int]
    peer: str
    def __init__(self, peer: _Optional[str] = ...) -> None: ...

class Deliveries(_message.Message):
    __slots__ = ("deliveries",)
    DELIVERIES_FIELD_NUMBER: _ClassVar[int]
    deliveries: _containers.RepeatedCompositeFieldContainer[Delivery]
    def __init__(self, deliveries: _Optional[_Iterable[_Union[Delivery, _Mapping]]] = ...) -> None: ...

class Delivery(_message.Message):
    __slots__ = ("delivery", "part", "taken")
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    delivery: int
    part: int
    taken: Taken
    def __init__(self, delivery: _Optional[int] = ..., part: _Optional[int] = ..., taken: _Optional[_Union[Taken, _Mapping]] = ...) -> None: ...

class Revoked(_message.Message):
    __slots__ = ("part",)
    PART_FIELD_NUMBER: _ClassVar[int]
    part: int
    def __init__(self, part: _Optional[int] = ...) -> None: ...

class Settled(_message.Message):
    __slots__ = ("id", "problem")
    ID_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    id: int
    problem: Problem
    def __init__(self, id: _Optional[int] = ..., problem: _Optional[_Union[Problem, _Mapping]] = ...) -> None: ...

class Ended(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
