"""Reading of files, compressed or not, within limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO

from ..errors import DataError, short
from ..limits import MAX_BYTES, MAX_LINE_BYTES, MAX_LINES, MAX_SMALL_BYTES
from ..store import Progress, open_regular

READ_CHUNK_BYTES = 1 << 22
SAMPLE_LINES = 1000
"""Lines that tell the format of a file."""
DAMAGE_ERRORS = (
    EOFError,
    ValueError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
)
"""What unpacking a damaged file raises; names inside an archive that are no UTF-8 are a ValueError."""
UNREADABLE = (*DAMAGE_ERRORS, OSError, NotImplementedError, RuntimeError)
"""That, and what zipfile raises for a kind of compression that it lacks, and for an encrypted file."""
#: Texts of numbers that are not finite, in lower case and without a sign.
NOT_FINITE = (b"nan", b"inf", b"infinity")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def chunks(
    path: Path, *, limit: int = MAX_BYTES, progress: Progress | None = None, member: str | None = None
) -> Iterator[bytes]:
    """Yield the decompressed content of a file in chunks of at most READ_CHUNK_BYTES.

    Compression by gz, bz2, xz or zip is recognized by the suffix. `member` names the file inside a zip
    archive with several files. `progress` is called with the fraction of the file on disk that has been read.
    Raises DataError if the file cannot be opened, is damaged or contains more than `limit` bytes.
    """
    total = 0
    try:
        with open_regular(path) as raw, _decompressed(path, raw, member) as stream:
            size = max(os.fstat(raw.fileno()).st_size, 1)
            while chunk := stream.read(READ_CHUNK_BYTES):
                total += len(chunk)
                if total > limit:
                    raise DataError(
                        f"{path.name} holds more than {limit:,} bytes when decompressed: split it."
                    )
                if progress:
                    progress(f"reading {path.name}", min(raw.tell() / size, 1.0))
                yield chunk
    except FileNotFoundError:
        raise DataError(f"There is no file {path}: check its name.") from None
    except DataError:
        raise
    except DAMAGE_ERRORS as error:
        raise DataError(f"{path.name} is damaged or cut short ({short(error)}): get it again.") from None
    except (OSError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path.name} cannot be read ({short(error)}): give a readable file.") from None


def _decompressed(path: Path, raw: io.BufferedReader, member: str | None) -> IO[bytes] | io.BufferedIOBase:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if suffix == ".bz2":
        return bz2.BZ2File(raw)
    if suffix == ".xz":
        return lzma.LZMAFile(raw)
    if suffix == ".zip":
        archive = zipfile.ZipFile(raw)
        names = [name for name in archive.namelist() if not _by_the_system(name)]
        if member is None and len(names) != 1:
            raise DataError(f"{path.name} holds {len(names)} files: give one with a single file inside.")
        name = member or names[0]
        if name not in names:
            raise DataError(f"{path.name} has no {name} inside: get the original file.")
        return archive.open(name)
    return raw


def _by_the_system(name: str) -> bool:
    """Return whether an entry of a zip archive is a folder, or a file added by macOS or Windows."""
    parts = name.split("/")
    return "__MACOSX" in parts or parts[-1].startswith("._") or parts[-1] in ("", ".DS_Store", "Thumbs.db")


def read_bytes(path: Path, *, progress: Progress | None = None) -> bytes:
    """Return the whole decompressed content of a small file. Raises DataError as `chunks` does."""
    return b"".join(chunks(path, limit=MAX_SMALL_BYTES, progress=progress))


def line_blocks(
    path: Path, *, limit: int = MAX_BYTES, progress: Progress | None = None, member: str | None = None
) -> Iterator[bytes]:
    """Yield the content of a text file in blocks of whole lines; the last line may lack its line feed.

    A byte order mark is skipped, and carriage returns that end lines by themselves are replaced by line
    feeds. Raises DataError as `chunks` does, and if a line is too long or there are too many. Raises it, too,
    for UTF-16 and for NUL bytes, which no other text contains.
    """
    rest, lines, returns = b"", 0, False
    for number, chunk in enumerate(chunks(path, limit=limit, progress=progress, member=member)):
        if number == 0:
            chunk = chunk.removeprefix(BYTE_ORDER_MARK)
            if chunk.startswith(UTF_16_MARKS):
                raise DataError(f"{path.name} is in UTF-16: save it as UTF-8.")
            # the last byte may be the first half of a CRLF
            returns = b"\n" not in chunk and b"\r" in chunk[:-1]
        if returns:
            chunk = chunk.replace(b"\r", b"\n")
        if b"\0" in chunk:
            line = lines + (rest + chunk[: chunk.index(b"\0")]).count(b"\n") + 1
            raise DataError(f"{path.name}, line {line}: there is a NUL byte; give a text file.")
        end = chunk.rfind(b"\n") + 1
        if end:
            block = rest + chunk[:end]
            lines += block.count(b"\n")
            rest = chunk[end:]
            yield block
        else:
            rest += chunk
        if len(rest) > MAX_LINE_BYTES:
            raise DataError(
                f"{path.name}, line {lines + 1} is longer than {MAX_LINE_BYTES:,} bytes: split it."
            )
        if lines > MAX_LINES:
            raise DataError(f"{path.name} has more than {MAX_LINES:,} lines: split it.")
    if rest:
        yield rest


def numbered_lines(
    path: Path, *, limit: int = MAX_BYTES, progress: Progress | None = None, member: str | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines without line ends, numbered from 1. Raises DataError as `line_blocks` does."""
    blocks = line_blocks(path, limit=limit, progress=progress, member=member)
    return enumerate((row for block in blocks for row in block.removesuffix(b"\n").split(b"\n")), 1)


def first_lines(path: Path, *, member: str | None = None) -> list[bytes]:
    """Return the first SAMPLE_LINES lines without line ends. Raises DataError as `line_blocks` does."""
    return [row.removesuffix(b"\r") for _, row in islice(numbered_lines(path, member=member), SAMPLE_LINES)]


def decoded(path: Path, number: int, row: bytes) -> str:
    """Decode a line as UTF-8. Raises DataError if that is not possible."""
    try:
        return row.decode()
    except UnicodeDecodeError:
        raise DataError(f"{path.name}, line {number}: this is not UTF-8; convert the file.") from None


def read_lines(path: Path, *, progress: Progress | None = None) -> list[str]:
    """Return the lines of a small UTF-8 file without line ends. Raises DataError as `line_blocks` does."""
    rows = numbered_lines(path, limit=MAX_SMALL_BYTES, progress=progress)
    return [decoded(path, number, row.removesuffix(b"\r")) for number, row in rows]
