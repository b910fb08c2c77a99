"""A socket pair between the house and a front: lists of words, and sockets that go along.

What one turn of the loop has to say goes out together, and of a long turn sixteen words at a time:
so the other side is at work meanwhile. Order is kept; nothing is lost while both live. When the
other side ends, `ended` is called, once, and never within `say`: who says something may be in the
midst of what it heard.
"""

import array
import asyncio
import os
import socket
import struct
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
import structlog

log = structlog.get_logger()

_LENGTH = struct.Struct("<I")
_READ_BYTES = 262_144
# Of Linux: so many sockets go with one message (SCM_MAX_FD).
_SOCKETS_MAX = 253
# Each with a socket at the most.
_WORDS_AT_ONCE = 16
_NOT_INHERITED: int = getattr(socket, "MSG_CMSG_CLOEXEC", 0)

Heard = TypeVar("Heard")


class Channel(Generic[Heard]):
    """One end. On the event loop's thread."""

    def __init__(
        self,
        end: socket.socket,
        kind: Any,
        heard: Callable[[list[Heard]], None],
        ended: Callable[[], None],
    ) -> None:
        """`kind`: of the words that are heard."""
        self._socket = end
        end.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(list[kind]).decode
        self._heard = heard
        self._ended = ended
        self._waiting: list[msgspec.Struct] = []
        self._going: list[int] = []  # sockets with them
        self._unsent: deque[tuple[bytes, list[int]]] = deque()
        self._scratch = memoryview(bytearray(_READ_BYTES))
        self._rest = b""
        self._came: deque[int] = deque()  # sockets that nobody took yet
        self._open = True
        self._news = asyncio.Event()
        self._loop.add_reader(end, self._read)

    def say(self, word: msgspec.Struct) -> None:
        """Have the other side hear a word."""
        if not self._waiting:
            self._loop.call_soon(self.flush)
        self._waiting.append(word)
        if len(self._waiting) >= _WORDS_AT_ONCE:
            self.flush()

    def give(self, word: msgspec.Struct, client: int) -> None:
        """The same of a word that a socket goes with, by its number. It may be closed at once."""
        self._going.append(os.dup(client))
        self.say(word)

    def taken(self) -> socket.socket:
        """The socket of the word that is being heard."""
        return socket.socket(fileno=self._came.popleft())

    def flush(self) -> None:
        """Send what was said until now."""
        words, self._waiting = self._waiting, []
        going, self._going = self._going, []
        if not words or not self._open:
            _close(going)
            return
        text = self._encode(words)
        self._unsent.append((_LENGTH.pack(len(text)) + text, going))
        if len(self._unsent) == 1:
            self._send()

    def close(self) -> None:
        """Say no more, and hear nothing."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._news.set()
            self._socket.close()
            for _, going in self._unsent:
                _close(going)
            self._unsent.clear()
            _close(self._going)
            while self._came:
                self.taken().close()

    async def sent(self) -> None:
        """Wait until all that was said is sent, or nobody is there to hear it."""
        self.flush()
        while self._unsent and self._open:
            self._news.clear()
            await self._news.wait()

    def _send(self) -> None:
        while self._unsent:
            text, going = self._unsent[0]
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", going))]
            try:
                sent = self._socket.sendmsg([text], rights if going else [])
            except (BlockingIOError, InterruptedError):
                self._loop.add_writer(self._socket, self._send)
                return
            except OSError:
                self._loop.remove_writer(self._socket)
                self._loop.call_soon(self._over)  # until then what is unsent keeps the rest back
                return
            _close(going)
            if sent < len(text):
                self._unsent[0] = text[sent:], []
                self._loop.add_writer(self._socket, self._send)
                return
            self._unsent.popleft()
        self._loop.remove_writer(self._socket)
        self._news.set()

    def _read(self) -> None:
        try:
            count, rights, _, _ = self._socket.recvmsg_into(
                [self._scratch], socket.CMSG_SPACE(4 * _SOCKETS_MAX), _NOT_INHERITED
            )
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            count, rights = 0, []
        if not count:
            self._over()
            return
        for _, _, numbers in rights:
            self._came.extend(array.array("i", numbers[: len(numbers) // 4 * 4]))
        text = self._rest + self._scratch[:count]
        at = 0
        while len(text) - at >= _LENGTH.size:
            begin = at + _LENGTH.size
            (length,) = _LENGTH.unpack_from(text, at)
            if len(text) - begin < length:
                break
            at = begin + length
            self._heard(self._decode(memoryview(text)[begin:at]))
            if not self._open:
                return
        self._rest = text[at:]

    def _over(self) -> None:
        if self._open:
            self.close()
            self._ended()


def _close(numbers: list[int]) -> None:
    for number in numbers:
        os.close(number)
    numbers.clear()
