"""A runner's handle of one child process: started, spoken to without blocking, watched, killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterable

from processors.manifest import Manifest
from streams.chains.errors import ChainStartError
from streams.chains.wire import Boot, FromChild, NotReady, Ready, ToChild, Unpacker, pack

_CHUNK = 1 << 18

# The parent's sys.path, whatever has been done to it, and -P, or the current directory might shadow this package.
_ENTRY = (
    "import json, sys; fd, owner, sys.path[:] = json.loads(sys.argv[1]); "
    "from streams.chains.child import main; main(fd, owner)"
)


class Child:
    """One child process, from the thread and event loop that started it.

    `on_message` is called with each message after the first; `on_gone` once, when the process has ended, whoever ended
    it. Both are called from the event loop.
    """

    def __init__(self, on_message: Callable[[Child, FromChild], None], on_gone: Callable[[Child], None]) -> None:
        """Make a handle; `start` makes the process."""
        self._on_message = on_message
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._first: asyncio.Future[FromChild | None] = self._loop.create_future()
        self._unpacker = Unpacker()
        self._unsent = bytearray()
        self._gone = False
        #: What could be deployed there; known once it has started.
        self.available: tuple[str, ...] = ()

    async def start(self, boot: Boot, timeout_s: float) -> Manifest:
        """Start the process and return what it has loaded.

        Raises:
            DepsError: it could not load what `boot` names.
            ChainStartError: it ended, or said nothing for `timeout_s` seconds; it has been killed then.
        """
        try:
            return await self._start(boot, timeout_s)
        except BaseException:
            await self.stop()
            raise

    async def _start(self, boot: Boot, timeout_s: float) -> Manifest:
        """Start the process, say what it is to load, and wait for its answer."""
        ours, theirs = socket.socketpair()
        self._socket = ours
        with theirs:
            arguments = json.dumps([theirs.fileno(), os.getpid(), [str(entry) for entry in sys.path]])
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-c",
                _ENTRY,
                arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=2,  # what processors print belongs to no protocol, neither here nor on our own stdout
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C is for the owner, which ends its children when it is done with them
            )
        ours.setblocking(False)
        self._loop.add_reader(ours, self._readable)
        self._watch = self._loop.create_task(self._await_end(self._process))
        self.send(boot)
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._first
        except TimeoutError:
            raise ChainStartError(
                f"the process for processors did not load {boot.spec or 'its code'} within {timeout_s:g} s: import it by "
                "hand to see what takes so long, or raise the limit"
            ) from None
        if isinstance(answer, NotReady):
            raise answer.error
        if not isinstance(answer, Ready):
            raise ChainStartError(
                f"the process for processors ended with status {self._process.returncode} while it loaded "
                f"{boot.spec or 'its code'}: see its standard error, or import the module by hand"
            )
        self.available = answer.available
        return answer.manifest

    @property
    def pid(self) -> int | None:
        """The process id, once started."""
        return self._process.pid if self._process is not None else None

    @property
    def gone(self) -> bool:
        """Whether the process has ended, or is being ended for good."""
        return self._gone

    def send(self, message: ToChild) -> None:
        """Send a message, or keep it until the child reads; dropped when the child is gone."""
        if self._socket is None or self._gone:
            return
        data = pack(message)
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:  # it has just died, which `on_gone` will tell
            return
        if sent < len(data):
            self._unsent += memoryview(data)[sent:]
            self._loop.add_writer(self._socket, self._writable)

    def kill(self) -> None:
        """End the process at once, and those that processors have started in it; `on_gone` follows."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # for a zombie: systems differ
                # Not `self._process.kill()`: it polls first, and so may take the exit status from asyncio's own watcher.
                # The group is its own, as the session is: a fork of it would still hold, and use, its end of the socket.
                os.killpg(self._process.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """Kill the process, wait until it is gone, and tell nobody."""
        self._gone = True
        self.kill()
        self._close()
        if self._watch is not None:
            # Not awaited itself: whoever gives up waiting here must not keep the process from being reaped.
            await asyncio.wait((self._watch,))

    def _readable(self) -> None:
        """Take all that has arrived."""
        connection = self._socket
        if connection is None:
            return
        ended = False
        while not ended:
            try:
                data = connection.recv(_CHUNK)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                data = b""
            ended = not data
            self._unpacker.feed(data)
        while not self._gone and (message := self._unpacker.next()) is not None:
            self._take(message)
        if ended:
            # Without its socket it is of no use, should it still live.
            self._loop.remove_reader(connection)
            self.kill()

    def _take(self, message: ToChild | FromChild) -> None:
        """Hand a message on."""
        if isinstance(message, ToChild):
            return
        if self._first.done():
            self._on_message(self, message)
        else:
            self._first.set_result(message)

    def _writable(self) -> None:
        """Send more of what the child had no room for."""
        if self._socket is None:
            return
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._unsent.clear()
        if not self._unsent:
            self._loop.remove_writer(self._socket)

    async def _await_end(self, process: asyncio.subprocess.Process) -> None:
        """Wait for the end of the process, take its last words, and tell."""
        await process.wait()
        self._readable()
        self._close()
        if not self._first.done():
            self._first.set_result(None)
        if not self._gone:
            self._gone = True
            self._on_gone(self)

    def _close(self) -> None:
        """Close our end of the socket."""
        connection, self._socket = self._socket, None
        if connection is not None:
            self._loop.remove_reader(connection)
            self._loop.remove_writer(connection)
            connection.close()


async def stop_all(children: Iterable[Child]) -> None:
    """Kill children and wait until they are gone."""
    await asyncio.gather(*(child.stop() for child in children))
