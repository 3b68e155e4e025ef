"""Decompression of gzip, zstd, bz2 and xz, which are recognised by a file's first bytes, not by its name.

A file consists of one or more consecutive members (gzip), frames (zstd) or streams (bz2, xz). All are decompressed in
turn. Output is limited to what is asked for, so that a small file that unpacks to a huge one does not need much memory.
"""

import sys
import zlib
from collections.abc import Callable
from typing import Any, Protocol

from odca.records import record
from odca.stream.read.errors import StreamError

PLAIN = "plain"
PIECE = 256 << 10  # bytes read from the disk at once
SMALLEST_SLICE = 4 << 10  # of a piece, for a decoder that has just started: members may be short
XZ_MEMORY = 256 << 20  # `xz -9` needs a quarter of this; a malicious file may ask for 4 GB
ZSTD_SLICE = 2 << 10  # 4 bytes of zstd may unpack to 128 KB; this many to at most 64 MB


class Decoder(Protocol):
    """The decoder of one member, frame or stream, with the interface of the standard library's decompressors (except zlib's)."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """The next bytes, at most `max_length`. All of `data` is consumed; further output comes with later calls."""

    @property
    def needs_input(self) -> bool:
        """Whether there is no more output without further input."""

    @property
    def eof(self) -> bool:
        """Whether the end was reached."""

    @property
    def unused_data(self) -> bytes:
        """The input after its end."""


class _Gzip:
    """zlib's decompressor, whose caller must keep the input that it did not consume."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=31)  # 31: with gzip's header and checksum

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data


class _Zstandard:
    """The decompressor of the package zstandard. It returns all output of its input at once, so it must get little input at a time."""

    def __init__(self, new: Callable[[], Any]) -> None:
        self._frame = new()
        self._output = b""
        self._given = 0

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if data:  # then all previous output was returned, since more input was needed
            self._output, self._given = self._frame.decompress(data), 0
        given = self._output[self._given : self._given + max_length]
        self._given += len(given)
        return given

    @property
    def needs_input(self) -> bool:
        return self._given == len(self._output)

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof) and self.needs_input

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data)


# Each returns a decoder and the error that it raises for invalid data.


def _gzip() -> tuple[Decoder, type[Exception]]:
    return _Gzip(), zlib.error


def _bz2() -> tuple[Decoder, type[Exception]]:
    import bz2  # noqa: PLC0415 - only needed for such files

    return bz2.BZ2Decompressor(), OSError


def _xz() -> tuple[Decoder, type[Exception]]:
    import lzma  # noqa: PLC0415 - the same

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY), lzma.LZMAError


def _zstd() -> tuple[Decoder, type[Exception]]:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - new in 3.14

        return zstd.ZstdDecompressor(), zstd.ZstdError
    try:
        import zstandard  # noqa: PLC0415 - optional, and only needed for such files
    except ImportError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise ImportError(
            f"Python {version} reads zstd only with the package zstandard, which is missing. Install it with"
            " pip install 'odca[cli]', or decompress the file first."
        ) from error
    return _Zstandard(zstandard.ZstdDecompressor().decompressobj), zstandard.ZstdError


@record
class Compression:
    """A compression format, and the bytes that its files begin with."""

    name: str
    magics: tuple[bytes, ...]
    begin: Callable[[], tuple[Decoder, type[Exception]]]
    largest_slice: int = PIECE


FORMATS = {
    each.name: each
    for each in (
        Compression("gzip", (b"\x1f\x8b\x08",), _gzip),
        Compression(
            "zstd",
            # The others are skippable frames, which pzstd and other tools put before the data.
            (b"\x28\xb5\x2f\xfd", *(bytes([kind]) + b"\x2a\x4d\x18" for kind in range(0x50, 0x60))),
            _zstd,
            ZSTD_SLICE,
        ),
        # A text may begin with "BZh9", but not with the bytes that follow in a bz2 file: the digits of pi, or of its root if it is empty.
        Compression(
            "bz2", tuple(b"BZh%d%b" % (n, of) for n in range(1, 10) for of in (b"1AY&SY", b"\x17rE8P\x90")), _bz2
        ),
        Compression("xz", (b"\xfd7zXZ\x00",), _xz),
    )
}
COMPRESSIONS = ("auto", PLAIN, *FORMATS)

# Files that are certainly not lines of text.
REFUSED = {
    b"PK\x03\x04": "a zip archive",
    b"PAR1\x15": "a Parquet file",
    b"ARROW1\x00\x00": "an Arrow file",
    b"\x04\x22\x4d\x18": "compressed with lz4",
    b"7z\xbc\xaf\x27\x1c": "a 7-zip archive",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
}
MAGICS = (*(magic for each in FORMATS.values() for magic in each.magics), *REFUSED)


def undecided(head: bytes) -> bool:
    """Whether more bytes are needed to recognise the kind of a file."""
    return any(len(head) < len(magic) and magic.startswith(head) for magic in MAGICS)


def recognised(head: bytes, path: str) -> str:
    """The name of a file's compression, by its first bytes."""
    for magic, kind in REFUSED.items():
        if head.startswith(magic):
            raise StreamError(
                f"the file is {kind}, which cannot be read as text. Convert it to text, plain or compressed with"
                f" {', '.join(FORMATS)}.",
                path=path,
            )
    return next((each.name for each in FORMATS.values() if head.startswith(each.magics)), PLAIN)


class Decoding:
    """The decompressed bytes of a file.

    `read` returns the next bytes on the disk, at most as many as requested, and none at the end.
    """

    def __init__(self, compression: Compression, read: Callable[[int], bytes], path: str) -> None:
        self._compression = compression
        self._read = read
        self._path = path
        self._piece = b""
        self._taken = 0  # bytes of this piece that were given to the decoder
        self._passed = 0  # bytes of the pieces before this one
        self._ended = False
        self._begin()

    @property
    def pending(self) -> bool:
        """Whether there may be more output without reading from the disk."""
        return self._taken < len(self._piece) or not self._decoder.needs_input

    def decompress(self, max_length: int) -> bytes:
        """The next bytes, at most `max_length`; none at the end."""
        while True:
            if self._ended or (self._decoder.eof and not self._next_member()):
                return b""
            data = self._slice() if self._decoder.needs_input else b""
            try:
                made = self._decoder.decompress(data, max_length)
            except self._fault as error:
                raise self._damaged(f"is damaged near byte {self._place}: {error}") from error
            if made:
                return made

    def _begin(self) -> None:
        self._decoder, self._fault = self._compression.begin()
        self._size = min(SMALLEST_SLICE, self._compression.largest_slice)

    @property
    def _place(self) -> int:
        return self._passed + self._taken

    def _more(self) -> bool:
        """Read the next piece if this one is used up. False at the end of the file."""
        if self._taken == len(self._piece):
            self._passed += self._taken
            self._piece, self._taken = self._read(PIECE), 0
        return bool(self._piece)

    def _slice(self) -> bytes:
        if not self._more():
            raise self._damaged(f"ends in the middle of {self._compression.name} data after {self._place} bytes")
        data = self._piece[self._taken : self._taken + self._size]
        self._taken += len(data)
        self._size = min(2 * self._size, self._compression.largest_slice)
        return data

    def _next_member(self) -> bool:
        """Start with the next member. False at the end of the file."""
        self._taken -= len(self._decoder.unused_data)
        while self._more():
            if self._piece[self._taken]:
                self._begin()
                return True
            rest = self._piece[self._taken :]
            self._taken += len(rest) - len(rest.lstrip(b"\0"))  # padding, which gzip and xz allow
        self._ended = True
        return False

    def _damaged(self, what: str) -> StreamError:
        return StreamError(
            f"the file {what}. Was it truncated, or is it still being written? Get a new copy, or check it with"
            f" {self._compression.name} -t.",
            path=self._path,
        )
