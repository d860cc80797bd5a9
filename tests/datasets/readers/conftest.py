import pytest


@pytest.fixture
def written(tmp_path):
    """Writes a small file, a text or bytes, and returns its path."""

    def write(content, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
