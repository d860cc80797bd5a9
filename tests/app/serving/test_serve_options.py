"""What stands after ``--args``: names, plugins, memory."""

from __future__ import annotations

import psutil
import pytest

from solverscope.app.serving.serve_options import PROXY_KEY_VARIABLE, Serving, address, size


@pytest.fixture(autouse=True)
def without_key(monkeypatch):
    """Whatever the environment of the tests has."""
    monkeypatch.delenv(PROXY_KEY_VARIABLE, raising=False)


def test_a_server_that_is_told_nothing_is_for_this_machine_alone():
    told = Serving.from_arguments([])
    assert (told.public, told.hosts, told.plugins) == (False, (), ())
    assert (told.proxies, told.key) == ((), "")
    assert told.memory == min(8 << 30, psutil.virtual_memory().total // 2)


@pytest.mark.parametrize("before", [[], ["serve", "app", "--port", "5", "--args"]])
def test_only_what_stands_after_args_counts_where_there_is_such_a_flag(before):
    given = ["--public", "--host", "Desk.lan", "--host=b", "--plugin", "mine.py", "--memory", "3G"]
    given += ["--data", "rows.svm"]
    assert Serving.from_arguments([*before, *given]) == Serving(
        True, ("desk.lan", "b"), ("mine.py",), 3 << 30, ("rows.svm",)
    )


def test_flags_of_the_server_itself_are_not_taken_for_those_of_the_page():
    assert Serving.from_arguments(["serve", "--host", "x", "--args", "--host", "y"]).hosts == ("y",)


def test_a_proxy_is_named_and_its_key_is_in_the_environment_and_shown_nowhere(monkeypatch):
    monkeypatch.setenv("SOLVERSCOPE_PROXY_KEY", "sesame")
    told = Serving.from_arguments(["--trusted-proxy", "Hub.example.", "--trusted-proxy=[::2]"])
    assert (told.proxies, told.key) == (("hub.example", "[::2]"), "sesame")
    assert "sesame" not in repr(told)


@pytest.mark.parametrize("flag", ["--host", "--trusted-proxy"])
@pytest.mark.parametrize(
    "text", ["", "https://hub.example", "hub.example:443", "hub.example/app", "::1", "a b"]
)
def test_what_is_more_than_a_name_is_refused_in_a_sentence(flag, text):
    with pytest.raises(ValueError, match=f"^{flag} .* give a name alone, such as scope.example"):
        Serving.from_arguments([flag, text])


def test_the_page_reads_the_arguments_of_its_process(monkeypatch):
    monkeypatch.setattr("sys.argv", ["app", "--public"])
    assert Serving.from_arguments().public


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("64M", 64 << 20), ("8G", 8 << 30), ("1.5g", 3 << 29), ("2GiB", 2 << 30), ("100000000", 10**8)],
)
def test_sizes_of_memory(text, wanted):
    assert size(text) == wanted


@pytest.mark.parametrize("text", ["", "-1G", "8X", "much", "1M", "nan", "inf", "1e9", "9999999T", "8G\0"])
def test_a_size_that_makes_no_sense_is_refused_in_a_sentence(text):
    with pytest.raises(ValueError, match="give a size from 64M on, such as 8G"):
        size(text)


def test_schedulers_are_those_named_at_the_start():
    given = ["--scheduler", "tcp://10.0.0.7:8786", "--scheduler=tls://[::1]:8786"]
    assert Serving.from_arguments(given).schedulers == ("tcp://10.0.0.7:8786", "tls://[::1]:8786")
    assert Serving.from_arguments([]).schedulers == ()


@pytest.mark.parametrize("text", ["", "8786", "10.0.0.7:8786", "tcp://", "tcp://host", "file:///etc/passwd"])
def test_an_address_that_is_none_is_refused_in_a_sentence(text):
    with pytest.raises(ValueError, match="give an address such as tcp:"):
        address(text)
