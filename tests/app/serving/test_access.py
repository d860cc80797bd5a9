"""Only visitors from this machine who call it by a name of its own may look, unless the server is public."""

from __future__ import annotations

import pytest

from solverscope.app.serving import access
from solverscope.app.serving.access import LOCAL_RIGHTS as EVERYTHING
from solverscope.app.serving.access import Rights, from_here, is_direct, rights
from solverscope.app.serving.serve_options import Serving

HERE = Serving()


def refusal(peer, host, serving, origin=None, **more):
    """The sentence for a request with this Host and Origin."""
    headers = {"Host": host, "Origin": origin} | more
    headers = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
    return access.refusal(peer, headers, serving)


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.0.3", "::1", "::ffff:127.0.0.1", "::1%lo"])
def test_this_machine_may_look(peer):
    assert refusal(peer, "localhost:5006", HERE) is None


@pytest.mark.parametrize(
    "peer", ["192.168.1.7", "10.0.0.2", "8.8.8.8", "fe80::1%eth0", "::ffff:10.0.0.2", "", None, "x"]
)
def test_others_are_refused_in_one_line_that_says_what_to_do(peer):
    line = refusal(peer, "localhost:5006", HERE)
    assert "--args --public" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "host",
    ["localhost", "LocalHost:5006", "localhost.", "localhost.:5006", "127.0.0.1:1", "[::1]", "[::1]:5006"],
)
def test_this_machine_answers_to_its_own_names(host):
    assert refusal("127.0.0.1", host, HERE) is None
    assert refusal("127.0.0.1", host, HERE, f"http://{host}") is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:5006",
        "evil.example",
        "localhost..",
        ".",
        "localhost.evil.example",
        "localhost@evil.example",
        "evil.example:localhost",
        "localhost, evil.example",
        "127.0.0.1.evil.example:80",
        "[::1].evil.example",
        "::1",
        "0.0.0.0:5006",
        "",
        None,
    ],
)
def test_any_other_name_is_refused_in_one_line_that_says_what_to_do(host):
    line = refusal("127.0.0.1", host, HERE)
    assert "--args --host NAME" in line
    assert "\n" not in line


def test_the_line_for_another_name_says_all_that_are_answered():
    serving = Serving(hosts=("desk.lan", "localhost"), proxies=("hub.example",))
    assert "answers to localhost, 127.0.0.1 and [::1] only" in refusal("127.0.0.1", "x", HERE)
    known = "localhost, 127.0.0.1, [::1], desk.lan and hub.example only"
    assert known in refusal("127.0.0.1", "x", serving)


def test_a_name_given_on_purpose_is_answered():
    serving = Serving(hosts=("desk.lan",))
    assert refusal("127.0.0.1", "desk.lan.:5006", serving) is None
    assert refusal("127.0.0.1", "desk.lan:5006", serving, "http://desk.lan:5006") is None
    assert refusal("127.0.0.1", "other.lan:5006", serving) is not None


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://localhost.evil.example:5006", "http://127.0.0.1:5006"],
)
def test_a_page_of_another_site_is_refused(origin):
    assert "open it at localhost" in refusal("127.0.0.1", "localhost:5006", HERE, origin)


def test_a_public_server_refuses_nobody():
    assert refusal("203.0.113.9", "anything", Serving(public=True), "http://elsewhere") is None


@pytest.mark.parametrize(
    ("peer", "headers", "here"),
    [
        ("127.0.0.1", {"Host": "localhost:5006"}, True),
        ("::1", {"Host": "[::1]:5006"}, True),
        ("192.0.2.7", {"Host": "localhost"}, False),
        ("127.0.0.1", {"Host": "scope.example"}, False),
        ("127.0.0.1", {"Host": "localhost", "X-Forwarded-For": "192.0.2.7"}, False),
        ("127.0.0.1", {"Host": "localhost", "X-Real-Ip": "192.0.2.7"}, False),
        ("127.0.0.1", {"Host": "localhost", "via": "1.1 proxy"}, False),
        ("127.0.0.1", {}, False),
        (None, {"Host": "localhost"}, False),
    ],
)
def test_a_visitor_is_here_only_without_another_program_between(peer, headers, here):
    assert from_here(peer, headers) is here


def test_a_page_of_a_name_that_is_served_is_not_answered_under_another_one():
    """A program that passes requests on as its own would make all its visitors those of this machine."""
    serving = Serving(hosts=("scope.example",))
    assert refusal("127.0.0.1", "scope.example", serving, "https://scope.example") is None
    assert "leave their Host" in refusal("127.0.0.1", "127.0.0.1:5006", serving, "https://scope.example")


#: Behind a proxy that lets in nobody but who started the server, by its name or by a key.
BEHIND = Serving(hosts=("desk.lan",), proxies=("hub.example",))
KEYED = Serving(key="sesame")
NAMED = Serving(hosts=("scope.example",), schedulers=("tcp://127.0.0.1:8786",))


@pytest.mark.parametrize(
    ("serving", "headers", "wanted"),
    [
        (HERE, {"Host": "localhost"}, EVERYTHING),
        (NAMED, {"Host": "localhost"}, Rights(schedulers=NAMED.schedulers)),
        (Serving(public=True), {"Host": "localhost"}, Rights(no_sweeps="a server for the public runs")),
        (NAMED, {"Host": "scope.example"}, Rights(own=False, no_sweeps="by visitors of this machine only")),
        (
            NAMED,
            {"Host": "localhost", "X-Forwarded-For": "192.0.2.7"},
            Rights(own=False, no_sweeps="by visitors of this machine only"),
        ),
        (
            Serving(public=True, schedulers=NAMED.schedulers),
            {"Host": "scope.example"},
            Rights(own=False, no_sweeps="a server for the public runs"),
        ),
        (BEHIND, {"Host": "hub.example", "X-Forwarded-For": "192.0.2.7"}, EVERYTHING),
        (BEHIND, {"Host": "hub.example.:443"}, EVERYTHING),
        (BEHIND, {"Host": "localhost"}, EVERYTHING),
        (BEHIND, {"Host": "desk.lan"}, Rights(own=False, no_sweeps="by visitors of this machine only")),
        (KEYED, {"Host": "hub.example", "X-Forwarded-For": "192.0.2.7"}, EVERYTHING),
    ],
)
def test_files_and_sweeps_are_for_visitors_of_this_machine_and_schedulers_are_those_named(
    serving, headers, wanted
):
    given = rights("127.0.0.1", headers, serving)
    assert (given.own, given.schedulers) == (wanted.own, wanted.schedulers)
    assert wanted.no_sweeps in given.no_sweeps
    assert bool(given.no_sweeps) is bool(wanted.no_sweeps)


def test_a_trusted_proxy_is_one_of_this_machine():
    assert refusal("127.0.0.1", "hub.example", BEHIND, "https://hub.example") is None
    assert "--args --public" in refusal("192.0.2.7", "hub.example", BEHIND)
    assert rights("192.0.2.7", {"Host": "hub.example"}, BEHIND).own is False
    assert refusal("127.0.0.1", "evil.example", BEHIND) is not None


@pytest.mark.parametrize("host", ["localhost:5006", "127.0.0.1", "hub.example", "evil.example"])
@pytest.mark.parametrize("serving", [KEYED, Serving(key="sesame", public=True, hosts=("hub.example",))])
def test_a_server_with_a_key_answers_who_shows_it_at_any_name_and_nobody_else(host, serving):
    assert refusal("127.0.0.1", host, serving, f"https://{host}", X_Solverscope_Key="sesame") is None
    for key in (None, "", "sesam", "sesame ", "séame"):
        line = refusal("127.0.0.1", host, serving, X_Solverscope_Key=key)
        assert "answers only the proxy that started it" in line
        assert "\n" not in line
    assert refusal("192.0.2.7", host, serving, X_Solverscope_Key="sesame") is not None
    other = refusal("127.0.0.1", host, serving, "https://other.example", X_Solverscope_Key="sesame")
    assert "leave their Host" in other


def test_programs_of_this_machine_need_no_key_and_come_by_its_own_names():
    assert access.refusal("127.0.0.1", {"Host": "localhost:5006"}, KEYED, of_program=True) is None
    assert access.refusal("127.0.0.1", {"Host": "evil.example"}, KEYED, of_program=True) is not None
    assert access.refusal("192.0.2.7", {"Host": "localhost"}, KEYED, of_program=True) is not None


@pytest.mark.parametrize(
    ("headers", "direct"),
    [
        ({"Host": "localhost:5006"}, True),
        ({"Host": "hub.example"}, False),
        ({"Host": "localhost:8888", "X-Forwarded-Prefix": "/proxy/5006"}, False),
        ({"Host": "localhost", "Forwarded": "for=192.0.2.7"}, False),
    ],
)
def test_an_address_is_also_that_of_programs_unless_a_proxy_is_between(headers, direct):
    assert is_direct(headers) is direct
