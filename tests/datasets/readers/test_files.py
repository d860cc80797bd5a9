import bz2
import gzip
import io
import lzma
import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from solverscope.datasets import DataError
from solverscope.datasets.readers import files, npz
from solverscope.datasets.store import sha256

TEXT = b"first\nsecond\nthird"


def zipped(text, name="inside.txt"):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return stream.getvalue()


PACKERS = {".txt": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zipped}


@pytest.mark.parametrize("suffix", PACKERS)
def test_each_compression_gives_the_same_text(written, suffix):
    path = written(PACKERS[suffix](TEXT), f"file{suffix}")
    assert files.read_bytes(path) == TEXT
    assert files.read_lines(path) == ["first", "second", "third"]


@pytest.mark.parametrize("suffix", [suffix for suffix in PACKERS if suffix != ".txt"])
def test_a_truncated_file_is_refused_wherever_it_ends(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    whole = PACKERS[suffix](TEXT * 20)
    for end in range(0, len(whole), 3):
        path.write_bytes(whole[:end])
        # bz2 and xz take an empty file for an empty text, as their own programs do not
        if end == 0 and suffix in (".bz2", ".xz", ".gz"):
            continue
        with pytest.raises(DataError, match=f"file\\{suffix} is damaged"):
            files.read_bytes(path)


@pytest.mark.quick(".gz", ".zip")
@pytest.mark.parametrize("suffix", [suffix for suffix in PACKERS if suffix != ".txt"])
def test_a_bomb_is_refused_before_it_takes_memory(written, suffix):
    path = written(PACKERS[suffix](b"1" * 100_000_000), f"bomb{suffix}")
    assert path.stat().st_size < 1_000_000
    tracemalloc.start()
    with pytest.raises(DataError, match="more than 10,000,000 bytes"):
        b"".join(files.chunks(path, limit=10_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000_000


def test_a_zip_of_several_files_needs_the_name_of_one(tmp_path):
    path = tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/one.txt", b"1")
        archive.writestr("a/two.txt", b"2")
    assert [*files.chunks(path, member="a/two.txt")] == [b"2"]
    with pytest.raises(DataError, match="holds 2 files"):
        files.read_bytes(path)
    with pytest.raises(DataError, match=r"no three\.txt"):
        list(files.chunks(path, member="three.txt"))


def test_what_macos_and_windows_add_to_a_zip_is_left_out(tmp_path):
    path = tmp_path / "mac.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/", b"")
        archive.writestr("data/one.txt", b"1")
        for name in ("__MACOSX/data/._one.txt", "__MACOSX/._data", "data/.DS_Store", "._x", "data/Thumbs.db"):
            archive.writestr(name, b"\0\5\x16\7")
    assert files.read_bytes(path) == b"1"


@pytest.mark.parametrize("chunk", [20, 24, 1 << 22])
def test_lines_that_end_with_a_return_alone_are_lines(written, monkeypatch, chunk):
    monkeypatch.setattr(files, "READ_CHUNK_BYTES", chunk)
    text = b"".join(b"line %02d\r" % i for i in range(30)) + b"end"
    rows = [row for _, row in files.numbered_lines(written(text))]
    assert rows == text.split(b"\r")


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_utf16_is_refused_by_its_name(written, mark):
    with pytest.raises(DataError, match=r"file\.txt is in UTF-16: save it as UTF-8"):
        files.read_lines(written("\ufeffa\tb\n".encode(mark)))


def test_blocks_are_whole_lines(written, monkeypatch):
    monkeypatch.setattr(files, "READ_CHUNK_BYTES", 8)
    text = b"\xef\xbb\xbf" + b"".join(b"line %d\r\n" % i for i in range(50)) + b"end"
    blocks = list(files.line_blocks(written(text)))
    assert b"".join(blocks) == text.removeprefix(b"\xef\xbb\xbf")
    assert all(block.endswith(b"\n") for block in blocks[:-1])


def test_lines_have_limits(written, monkeypatch):
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 1_000_000)
    with pytest.raises(DataError, match="line 2 is longer than"):
        list(files.line_blocks(written(b"short\n" + b"x" * 5_000_000)))
    monkeypatch.setattr(files, "MAX_LINES", 1000)
    with pytest.raises(DataError, match="more than 1,000 lines"):
        list(files.line_blocks(written(b"\n" * 5_000_000)))


def test_a_nul_byte_is_refused_with_its_line(written):
    with pytest.raises(DataError, match=r"file\.txt, line 2: there is a NUL byte"):
        list(files.line_blocks(written(b"a\nb\0\n")))


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        files.read_bytes(tmp_path)
    with pytest.raises(DataError, match="There is no file"):
        files.read_bytes(tmp_path / "nothing")


def test_a_pipe_and_a_device_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    for path in (tmp_path / "pipe.txt", Path("/dev/zero")):
        for read in (files.read_bytes, npz.read_csr, sha256):
            with pytest.raises(DataError, match=f"{path.name} cannot be read .* give a regular file"):
                read(path)


def test_text_that_is_not_utf8_is_refused_with_its_line(written):
    with pytest.raises(DataError, match="line 3: this is not UTF-8"):
        files.read_lines(written(b"a\nb\n\xff\n"))
