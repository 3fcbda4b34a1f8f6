"""An asyncio face over kazoo: one session with ZooKeeper.

Everything is relative to the address' chroot. Calls are sent in the order in which they are
made and answered in that order, so two calls without an `await` between them are pipelined.

A connection is one session and no more: kazoo would open a new session after an expiry, which
is not what this process was before, so `LOST` is final here and the owner opens a new one.
"""

# kazoo carries no types; what leaves this module is typed.
# pyright: basic
from __future__ import annotations

import asyncio
import contextlib
import enum
import functools
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, Self

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE
from msgspec import Struct

from remuda.errors import AccessDenied, ChrootMissing, Disconnected, SessionLost, Unreachable
from remuda.zookeeper.address import Address
from remuda.zookeeper.multi_read import MultiRead

# kazoo reports every reconnect attempt as a warning; what matters reaches us as a Link.
logging.getLogger("kazoo").addHandler(logging.NullHandler())
logging.getLogger("kazoo").propagate = False


class Link(enum.Enum):
    """How this process stands with ZooKeeper."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    LOST = "lost"


class Credentials(Struct, frozen=True):
    """What an outside ensemble may ask for."""

    auth: tuple[tuple[str, str], ...] = ()
    tls: bool = False
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_verify: bool = True


class Children(NamedTuple):
    """How many children a znode ever had, and how many it has."""

    created: int
    present: int


class Connection:
    def __init__(
        self,
        address: Address,
        session_timeout_s: float,
        credentials: Credentials = Credentials(),  # noqa: B008  (frozen)
        on_link: Callable[[Link], None] = lambda _: None,
    ) -> None:
        self.address = address
        self.link = Link.SUSPENDED
        self._settled = asyncio.Event()
        # What the server granted, which may be less than what was asked for.
        self.session_timeout_s = session_timeout_s
        self._on_link = on_link
        self._loop = asyncio.get_running_loop()
        self._acl = CREATOR_ALL_ACL if credentials.auth else OPEN_ACL_UNSAFE
        # Reconnects must be tried often enough to find the server again within the session.
        retry = {
            "max_tries": -1,
            "delay": 0.05,
            "backoff": 2,
            "max_jitter": 0.2,
            "max_delay": max(0.05, min(1.0, session_timeout_s / 5)),
        }
        self._client = KazooClient(
            hosts=address.servers,
            timeout=session_timeout_s,
            connection_retry=retry,
            auth_data=list(credentials.auth),
            use_ssl=credentials.tls,
            ca=credentials.tls_ca,
            certfile=credentials.tls_cert,
            keyfile=credentials.tls_key,
            verify_certs=credentials.tls_verify,
        )
        self._client.add_listener(self._listen)
        self._note_granted_timeout()

    @classmethod
    async def open(
        cls,
        address: Address,
        session_timeout_s: float,
        credentials: Credentials = Credentials(),  # noqa: B008  (frozen)
        *,
        on_link: Callable[[Link], None] = lambda _: None,
        connect_timeout_s: float = 10.0,
        create_chroot: bool = False,
    ) -> Self:
        """Connect, and make sure that the chroot is there; nothing is left open on failure."""
        connection = cls(address, session_timeout_s, credentials, on_link)
        try:
            await connection._connect(connect_timeout_s)
            await connection._enter_chroot(create=create_chroot)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def close(self) -> None:
        """End the session: its ephemeral znodes go at once, not at the time-out."""
        self._on_link = lambda _: None
        await asyncio.to_thread(self._stop)

    async def settled(self) -> None:
        """Return when calls are answered again; raise SessionLost when they never will be."""
        await self._settled.wait()
        if self.link is Link.LOST:
            raise SessionLost("the ZooKeeper session has expired")

    # ── reading: asked again when the connection breaks, until the session is lost ───────────────

    async def get(self, path: str) -> tuple[bytes, int] | None:
        """A znode's data and version, or None when there is no such znode."""
        try:
            data, stat = await self._read(lambda: self._client.get_async(self._full(path)))
        except kazoo_errors.NoNodeError:
            return None
        return data or b"", stat.version

    async def get_many(self, paths: Sequence[str]) -> list[bytes | None]:
        """The data of many znodes by one request."""
        request = MultiRead([self._full(path) for path in paths])

        def send() -> Any:
            result = self._client.handler.async_result()
            self._client._call(request, result)
            return result

        answers = await self._read(send)
        for answer, path in zip(answers, paths, strict=True):
            if isinstance(answer, int):
                raise _translated(kazoo_errors.EXCEPTIONS[answer](), path)
        return answers

    async def exists(self, path: str, on_change: Callable[[], None] | None = None) -> bool:
        """Whether a znode is there. `on_change` is called once: when it is created, deleted or
        written, or when the connection breaks and the watch with it."""
        watcher = self._watcher(on_change)
        return (
            await self._read(lambda: self._client.exists_async(self._full(path), watcher))
            is not None
        )

    def watch(self, path: str, on_change: Callable[[], None]) -> asyncio.Future[bool]:
        """Like `exists`, but sent before this returns, and not asked again."""
        asked = self._ask(self._client.exists_async(self._full(path), self._watcher(on_change)))
        there = self._future()

        def settle(_: asyncio.Future[Any]) -> None:
            if there.cancelled() or asked.cancelled():
                return
            error = asked.exception()
            if error is None:
                there.set_result(asked.result() is not None)
            else:
                there.set_exception(error)

        asked.add_done_callback(settle)
        return there

    async def children(self, path: str) -> Children:
        """Counts from the znode's stat alone; ZooKeeper's `cversion` counts creates and deletes."""
        stat = await self._read(lambda: self._client.exists_async(self._full(path)))
        if stat is None:
            return Children(0, 0)
        return Children((stat.cversion + stat.numChildren) // 2, stat.numChildren)

    async def list(self, path: str) -> list[str]:
        try:
            return sorted(
                await self._read(lambda: self._client.get_children_async(self._full(path)))
            )
        except kazoo_errors.NoNodeError:
            return []

    async def sync(self, path: str) -> None:
        """See everything that was written before now, whichever server we speak to."""
        await self._read(lambda: self._client.sync_async(self._full(path)))

    async def ping(self, path: str) -> bool:
        """Like `exists`, but raises Disconnected: for who needs to know when it was answered."""
        return await self._ask(self._client.exists_async(self._full(path))) is not None

    # ── writing: Disconnected means that it may or may not have happened ─────────────────────────

    def create(
        self, path: str, data: bytes, *, ephemeral: bool = False, sequence: bool = False
    ) -> Awaitable[str]:
        """Send a create now; await the answer, the whole path that was made."""
        return self._ask(
            self._client.create_async(
                self._full(path), data, acl=self._acl, ephemeral=ephemeral, sequence=sequence
            )
        )

    async def ensure(self, path: str, data: bytes = b"") -> bool:
        """Create a znode unless it is there; its parent must exist. True if this call made it."""
        try:
            await self._read(
                lambda: self._client.create_async(self._full(path), data, acl=self._acl)
            )
        except kazoo_errors.NodeExistsError:
            return False
        return True

    async def set(self, path: str, data: bytes, version: int) -> bool:
        """Write if nobody wrote since `version`."""
        try:
            await self._ask(self._client.set_async(self._full(path), data, version))
        except kazoo_errors.BadVersionError:
            return False
        return True

    async def delete_many(self, paths: Sequence[str]) -> None:
        """Delete those that are there, in as few transactions as that takes."""
        if not paths:
            return
        transaction = self._client.transaction()
        for path in paths:
            transaction.delete(self._full(path))
        results = await self._read(transaction.commit_async)
        if all(result is True for result in results):
            return
        # Somebody deleted some of them before: a transaction is all or nothing, so one by one.
        await asyncio.gather(*(self._delete(path) for path in paths))

    async def _delete(self, path: str) -> None:
        with contextlib.suppress(kazoo_errors.NoNodeError):
            await self._read(lambda: self._client.delete_async(self._full(path)))

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _connect(self, timeout_s: float) -> None:
        try:
            await asyncio.to_thread(self._start, timeout_s)
        except KazooTimeoutError:
            raise Unreachable(
                f"no ZooKeeper answers at {self.address.servers} within {timeout_s:g} s: "
                "check the address, and that the server is up"
            ) from None
        except kazoo_errors.AuthFailedError:
            raise _translated(kazoo_errors.AuthFailedError(), self.address.servers) from None

    async def _enter_chroot(self, *, create: bool) -> None:
        try:
            if await self.exists("/"):
                return
            if not create:
                raise self._chroot_missing()
            await asyncio.to_thread(self._client.ensure_path, self._full("/"), self._acl)
        except kazoo_errors.KazooException as error:
            raise _translated(error, self.address.chroot) from None

    def _chroot_missing(self) -> ChrootMissing:
        if self.address.chroot_is_ours:
            return no_cluster(self.address)
        return ChrootMissing(
            f"the chroot {self.address.chroot} does not exist at {self.address.servers}: check its "
            f"spelling, or found a cluster there with `remuda peer --create --zookeeper "
            f"{self.address}`"
        )

    def _start(self, timeout_s: Any) -> None:
        self._client.start(timeout_s)

    def _stop(self) -> None:
        self._client.stop()
        self._client.close()

    def _note_granted_timeout(self) -> None:
        handler: Any = self._client._connection
        connect = handler._connect

        @functools.wraps(connect)
        def noting(*args: Any) -> Any:
            read_timeout_ms, connect_timeout_ms = connect(*args)
            # kazoo keeps only this fraction of what the server granted.
            self.session_timeout_s = read_timeout_ms * 1.5 / 1000
            return read_timeout_ms, connect_timeout_ms

        handler._connect = noting

    def _listen(self, state: str) -> None:
        """Called in kazoo's thread."""
        link = {
            KazooState.CONNECTED: Link.CONNECTED,
            KazooState.SUSPENDED: Link.SUSPENDED,
            KazooState.LOST: Link.LOST,
        }[state]
        self._hand_over(self._set_link, link)

    def _set_link(self, link: Link) -> None:
        if self.link is not Link.LOST and self.link is not link:
            self.link = link
            if link is Link.SUSPENDED:
                self._settled.clear()
            else:
                self._settled.set()
            self._on_link(link)

    def _watcher(self, on_change: Callable[[], None] | None) -> Callable[[Any], None] | None:
        if on_change is None:
            return None
        return lambda _event: self._hand_over(on_change)

    def _hand_over(self, call: Callable[..., None], *args: Any) -> None:
        """From kazoo's threads to the loop's, unless the loop is gone."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *args)

    def _future(self) -> asyncio.Future[Any]:
        """One whose failure may go unheard: who waited for it may be gone by then."""
        future: asyncio.Future[Any] = self._loop.create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        return future

    def _full(self, path: str) -> str:
        return (self.address.chroot + path).rstrip("/") or "/"

    async def _read(self, send: Callable[[], Any]) -> Any:
        while True:
            try:
                return await self._ask(send())
            except Disconnected:
                await self.settled()

    def _ask(self, result: Any) -> asyncio.Future[Any]:
        future = self._future()

        def settle() -> None:
            if future.done():
                return
            if result.exception is None:
                future.set_result(result.value)
            else:
                future.set_exception(_translated(result.exception))

        result.rawlink(lambda _: self._hand_over(settle))
        return future


def no_cluster(address: Address) -> ChrootMissing:
    return ChrootMissing(
        f"there is no Remuda cluster at {address}: start its first peer with "
        f"`remuda peer --zookeeper {address}`"
    )


_CUT_OFF = (
    kazoo_errors.ConnectionLoss,
    kazoo_errors.ConnectionClosedError,
    kazoo_errors.OperationTimeoutError,
)
_REFUSED = (kazoo_errors.NoAuthError, kazoo_errors.AuthFailedError, kazoo_errors.InvalidACLError)


def _translated(error: BaseException, what: str = "the cluster's znodes") -> BaseException:
    """Ours for what any caller may meet; kazoo's own for what a caller in this module handles."""
    if isinstance(error, _CUT_OFF):
        return Disconnected("the connection to ZooKeeper was lost before the answer came")
    if isinstance(error, (kazoo_errors.SessionExpiredError, kazoo_errors.SessionMovedError)):
        return SessionLost("the ZooKeeper session has expired")
    if isinstance(error, _REFUSED):
        return AccessDenied(
            f"ZooKeeper refuses access to {what}: check --zookeeper-auth and the znodes' ACLs"
        )
    return error
