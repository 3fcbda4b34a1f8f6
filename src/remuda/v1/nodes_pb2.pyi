from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SubmitRequest(_message.Message):
    __slots__ = ("partition", "machine", "command")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    partition: int
    machine: str
    command: bytes
    def __init__(self, partition: _Optional[int] = ..., machine: _Optional[str] = ..., command: _Optional[bytes] = ...) -> None: ...

class SubmitResponse(_message.Message):
    __slots__ = ("answer", "rejected")
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    answer: bytes
    rejected: Rejected
    def __init__(self, answer: _Optional[bytes] = ..., rejected: _Optional[_Union[Rejected, _Mapping]] = ...) -> None: ...

class Rejected(_message.Message):
    __slots__ = ("kind", "reason")
    KIND_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    kind: str
    reason: str
    def __init__(self, kind: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class AskRequest(_message.Message):
    __slots__ = ("partition", "machine", "question")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    QUESTION_FIELD_NUMBER: _ClassVar[int]
    partition: int
    machine: str
    question: bytes
    def __init__(self, partition: _Optional[int] = ..., machine: _Optional[str] = ..., question: _Optional[bytes] = ...) -> None: ...

class AskResponse(_message.Message):
    __slots__ = ("answer",)
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    answer: bytes
    def __init__(self, answer: _Optional[bytes] = ...) -> None: ...

class DeliverRequest(_message.Message):
    __slots__ = ("partition", "sender", "parcels")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    SENDER_FIELD_NUMBER: _ClassVar[int]
    PARCELS_FIELD_NUMBER: _ClassVar[int]
    partition: int
    sender: int
    parcels: _containers.RepeatedCompositeFieldContainer[Parcel]
    def __init__(self, partition: _Optional[int] = ..., sender: _Optional[int] = ..., parcels: _Optional[_Iterable[_Union[Parcel, _Mapping]]] = ...) -> None: ...

class Parcel(_message.Message):
    __slots__ = ("number", "machine", "command")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    number: int
    machine: bytes
    command: bytes
    def __init__(self, number: _Optional[int] = ..., machine: _Optional[bytes] = ..., command: _Optional[bytes] = ...) -> None: ...

class DeliverResponse(_message.Message):
    __slots__ = ("heard",)
    HEARD_FIELD_NUMBER: _ClassVar[int]
    heard: int
    def __init__(self, heard: _Optional[int] = ...) -> None: ...

class TellRequest(_message.Message):
    __slots__ = ("machine", "note")
    MACHINE_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    machine: str
    note: bytes
    def __init__(self, machine: _Optional[str] = ..., note: _Optional[bytes] = ...) -> None: ...

class TellResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
