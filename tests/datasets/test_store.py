import hashlib
import http.server
import threading
from functools import partial

import pytest

from solverscope.datasets import DataError, DataFile, store

CONTENT = b"some data\n" * 1000


@pytest.fixture
def server(tmp_path):
    """A web server on this machine with the file x.txt; gives its address."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "x.txt").write_bytes(CONTENT)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *args: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def remote(address, content=CONTENT):
    return DataFile("set/x.txt", f"{address}/x.txt", hashlib.sha256(content).hexdigest())


def test_the_users_folder_comes_before_the_cache(tmp_path, home, monkeypatch):
    monkeypatch.setenv("SOLVERSCOPE_DATA", str(tmp_path))
    for folder in (tmp_path, home / "data"):
        (folder / "set").mkdir(parents=True)
        (folder / "set" / "x.txt").write_bytes(b"here")
    assert store.find("set/x.txt") == tmp_path / "set" / "x.txt"
    (tmp_path / "set" / "x.txt").unlink()
    assert store.find("set/x.txt") == home / "data" / "set" / "x.txt"


def test_a_file_is_found_under_another_compression(home):
    (home / "data").mkdir()
    (home / "data" / "x.txt.xz").write_bytes(b"")
    assert store.find("x.txt.gz") == home / "data" / "x.txt.xz"
    assert store.find("y.txt.gz") is None


def test_a_download_is_checked_kept_and_told(home, server):
    told = []
    path = store.fetch(remote(server), "here", lambda text, fraction: told.append(fraction))
    assert path == home / "data" / "set" / "x.txt"
    assert path.read_bytes() == CONTENT
    assert told[-1] == 1.0
    assert store.fetch(DataFile("set/x.txt"), "here", lambda text, fraction: None) == path


def test_a_download_with_another_digest_is_refused_and_not_kept(home, server):
    with pytest.raises(DataError, match=r"SHA-256") as error:
        store.fetch(remote(server, b"other"), "here", lambda text, fraction: None)
    assert str(home / "data" / "set" / "x.txt") in str(error.value)
    assert store.find("set/x.txt") is None


def test_a_failed_download_says_which_file_to_put_where(home, server):
    file = DataFile("set/missing.txt", f"{server}/missing.txt", "0" * 64)
    with pytest.raises(DataError, match=r"get missing\.txt by hand") as error:
        store.fetch(file, "here", lambda text, fraction: None)
    assert str(home / "data" / "set" / "missing.txt") in str(error.value)


def test_a_file_without_address_says_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SOLVERSCOPE_DATA", str(tmp_path))
    with pytest.raises(DataError, match="put it at") as error:
        store.fetch(DataFile("set/x.bz2"), "a good place", lambda text, fraction: None)
    assert str(tmp_path / "set" / "x.bz2") in str(error.value)
    assert "source: a good place" in str(error.value)
    with pytest.raises(DataError, match="put it at") as error:
        store.fetch(DataFile("set/x.bz2"), "", lambda text, fraction: None)
    assert "source" not in str(error.value)


def test_a_file_may_be_named_by_its_whole_path(home, tmp_path):
    (tmp_path / "mine.csv").write_text("1,2")
    assert store.fetch(DataFile(str(tmp_path / "mine.csv")), "", lambda *_: None) == tmp_path / "mine.csv"


def test_digests_are_those_of_the_files(tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    assert store.sha256(tmp_path / "a") == hashlib.sha256(b"a").hexdigest()
    assert store.sha256(tmp_path / "a", tmp_path / "b") != store.sha256(tmp_path / "b", tmp_path / "a")


def test_an_empty_home_is_none_everywhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SOLVERSCOPE_HOME", raising=False)
    usual = store.home()
    monkeypatch.setenv("SOLVERSCOPE_HOME", "")
    assert store.home() == usual != tmp_path
    assert store.cache_folder() == usual / "data"
