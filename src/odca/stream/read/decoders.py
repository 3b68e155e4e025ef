"""Compressed bytes become plain ones: gzip, zstd, bz2 and xz, told apart by their first bytes, not by a file's name.

A file holds one or more members (gzip), frames (zstd) or streams (bz2, xz), one behind the other. All are undone in
turn. At most as much comes out as is asked for, so that a small file that unpacks to a huge one needs no huge memory.
"""

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from odca.stream.read.errors import StreamError

PLAIN = "plain"
PIECE = 256 << 10  # bytes read from the disk at once
SMALLEST_SLICE = 4 << 10  # of a piece, for a decoder that has just begun: members may be short
XZ_MEMORY = 256 << 20  # `xz -9` needs a quarter of it; a file may claim 4 GB
ZSTD_SLICE = 2 << 10  # 4 bytes of zstd may unpack to 128 KB; this many to 64 MB at most


class Decoder(Protocol):
    """One member, frame or stream: what the standard library's decompressors have in common (all but zlib's)."""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """The next bytes, at most `max_length`. All of `data` is taken in; the rest comes with later calls."""

    @property
    def needs_input(self) -> bool:
        """Whether nothing comes without further input."""

    @property
    def eof(self) -> bool:
        """Whether it is complete."""

    @property
    def unused_data(self) -> bytes:
        """What came behind its end."""


class _Gzip:
    """zlib's decompressor, which leaves it to the caller to keep what it did not take in."""

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
    """The package's decompressor, which gives out all that its input makes: so it must get little at a time."""

    def __init__(self, new: Callable[[], Any]) -> None:
        self._frame = new()
        self._output = b""
        self._given = 0

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if data:  # then nothing is left of the last output, since more input was needed
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


# Each returns a decoder and the error that it raises for data that are not of its kind.


def _gzip() -> tuple[Decoder, type[Exception]]:
    return _Gzip(), zlib.error


def _bz2() -> tuple[Decoder, type[Exception]]:
    import bz2  # noqa: PLC0415 - needed for such files only

    return bz2.BZ2Decompressor(), OSError


def _xz() -> tuple[Decoder, type[Exception]]:
    import lzma  # noqa: PLC0415 - the same

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY), lzma.LZMAError


def _zstd() -> tuple[Decoder, type[Exception]]:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - new in 3.14

        return zstd.ZstdDecompressor(), zstd.ZstdError
    try:
        import zstandard  # noqa: PLC0415 - optional, and needed for such files only
    except ImportError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise ImportError(
            f"Python {version} reads zstd only with the package zstandard, which is missing. Install it with"
            " pip install 'odca[cli]', or unpack the file before."
        ) from error
    return _Zstandard(zstandard.ZstdDecompressor().decompressobj), zstandard.ZstdError


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of compression, and the bytes that a file of it begins with."""

    name: str
    magics: tuple[bytes, ...]
    begin: Callable[[], tuple[Decoder, type[Exception]]]
    largest_slice: int = PIECE


FORMATS = {
    each.name: each
    for each in (
        Format("gzip", (b"\x1f\x8b\x08",), _gzip),
        Format(
            "zstd",
            # The second kind: frames to be skipped, which pzstd and others put before the data.
            (b"\x28\xb5\x2f\xfd", *(bytes([kind]) + b"\x2a\x4d\x18" for kind in range(0x50, 0x60))),
            _zstd,
            ZSTD_SLICE,
        ),
        # A text may begin with "BZh9", but not with the numbers that follow in a file of bz2: pi, and its root if empty.
        Format("bz2", tuple(b"BZh%d%b" % (n, of) for n in range(1, 10) for of in (b"1AY&SY", b"\x17rE8P\x90")), _bz2),
        Format("xz", (b"\xfd7zXZ\x00",), _xz),
    )
}
COMPRESSIONS = ("auto", PLAIN, *FORMATS)

# Files that are surely not lines of text.
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
    """Whether a file that begins so may yet turn out to be of one kind or another."""
    return any(len(head) < len(magic) and magic.startswith(head) for magic in MAGICS)


def recognised(head: bytes, path: str) -> str:
    """The name of the compression of a file that begins so."""
    for magic, kind in REFUSED.items():
        if head.startswith(magic):
            raise StreamError(
                f"the file is {kind}, which is not read here. Convert it to text, or to text compressed with"
                f" {', '.join(FORMATS)}.",
                path=path,
            )
    return next((each.name for each in FORMATS.values() if head.startswith(each.magics)), PLAIN)


class Decoding:
    """The plain bytes of a compressed file.

    `read` gives the next bytes on the disk, at most as many as it is asked for, and none at the end.
    """

    def __init__(self, form: Format, read: Callable[[int], bytes], path: str) -> None:
        self._form = form
        self._read = read
        self._path = path
        self._piece = b""
        self._taken = 0  # bytes of the piece that the decoder got
        self._passed = 0  # bytes of the pieces before this one
        self._ended = False
        self._begin()

    @property
    def pending(self) -> bool:
        """Whether more may come without another read from the disk."""
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
        self._decoder, self._fault = self._form.begin()
        self._size = min(SMALLEST_SLICE, self._form.largest_slice)

    @property
    def _place(self) -> int:
        return self._passed + self._taken

    def _more(self) -> bool:
        """Read on if nothing is left of this piece. False at the end."""
        if self._taken == len(self._piece):
            self._passed += self._taken
            self._piece, self._taken = self._read(PIECE), 0
        return bool(self._piece)

    def _slice(self) -> bytes:
        if not self._more():
            raise self._damaged(f"ends in the middle of {self._form.name} data after {self._place} bytes")
        data = self._piece[self._taken : self._taken + self._size]
        self._taken += len(data)
        self._size = min(2 * self._size, self._form.largest_slice)
        return data

    def _next_member(self) -> bool:
        """Go on behind the end of a member. False at the end of the file."""
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
            f"the file {what}. Was it cut short, or is it still being written? Get it anew, or test it with"
            f" {self._form.name} -t.",
            path=self._path,
        )
