"""Who is let in: hosts, origins and tokens, as a hostile page or network would try them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.dashboard.access import COOKIE, Access
from bondloop.errors import InputError

TOKEN = "a-token-of-some-length"
LOCAL = Access("127.0.0.1", 8750)
FAR = Access("0.0.0.0", 8750, TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1:8750", "localhost:8750", "[::1]:8750"])
def test_this_machine_is_let_in(host):
    assert LOCAL.refusal({"host": host}, {}) == ""
    assert LOCAL.refusal({"host": host, "origin": f"http://{host}"}, {}, acts=True) == ""


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8750",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1.evil.example:8750",
        "192.168.1.2:8750",
        "",
        "[::1",
        "a:b:c",
    ],
)
def test_another_host_is_refused(host):
    """A name of somebody else's that leads here (DNS rebinding), or another port."""
    assert "host" in LOCAL.refusal({"host": host}, {})


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1:9999",
        "https://127.0.0.1:8750",
        "null",
        "http://localhost:8750",
        "",
    ],
)
def test_another_origin_is_refused(origin):
    assert "origin" in LOCAL.refusal({"host": "127.0.0.1:8750", "origin": origin}, {}, acts=True)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_a_page_of_another_site_is_refused(site):
    assert "site" in LOCAL.refusal({"host": "127.0.0.1:8750", "sec-fetch-site": site}, {})


def test_a_refusal_carries_what_kind_it_is():
    """The status and the way for a link are read from it, not from how its sentence begins."""
    here, elsewhere = (
        {"host": "127.0.0.1:8750"},
        {"host": "evil.example:8750", "sec-fetch-site": "cross-site"},
    )
    link = LOCAL.stranger({**here, "sec-fetch-site": "cross-site"}, acts=False)
    assert (link.status, link.followed_link) == (403, True)
    for others in (LOCAL.stranger(elsewhere, acts=False), LOCAL.stranger(here, acts=True)):
        assert (others.status, others.followed_link) == (403, False)
    nameless = FAR.unknown(here, {})
    assert (nameless.status, nameless.followed_link) == (401, False)


def test_what_acts_must_say_where_it_comes_from():
    assert "no origin" in LOCAL.refusal({"host": "127.0.0.1:8750"}, {}, acts=True)


def test_beyond_this_machine_a_token_is_demanded():
    with pytest.raises(InputError, match="token"):
        Access("0.0.0.0", 8750)
    with pytest.raises(InputError, match="16"):
        Access("0.0.0.0", 8750, "short")


@given(st.text(max_size=60).filter(lambda t: t.strip() != TOKEN), st.text(max_size=80))
def test_a_wrong_token_is_refused(bearer, cookie):
    headers = {"host": "192.168.1.2:8750", "authorization": f"Bearer {bearer}"}
    assert "token" in FAR.refusal(headers, {COOKIE: cookie})


def test_the_token_lets_in_as_header_or_cookie():
    host = {"host": "192.168.1.2:8750"}
    assert FAR.refusal({**host, "authorization": f"Bearer {TOKEN}"}, {}) == ""
    assert FAR.refusal(host, {COOKIE: FAR.pass_word}) == ""
    assert TOKEN not in FAR.pass_word
    assert Access("0.0.0.0", 1, TOKEN).pass_word == FAR.pass_word, "it outlives a restart"


def test_names_can_be_rebound_addresses_cannot():
    shown = {COOKIE: FAR.pass_word}
    assert FAR.refusal({"host": "10.0.0.7:8750"}, shown) == ""
    assert "host" in FAR.refusal({"host": "rebound.example:8750"}, shown)


def test_files_that_are_no_certificate_are_refused_in_a_sentence(tmp_path):
    from bondloop.dashboard import Settings, serve

    for name in ("cert.pem", "key.pem"):
        (tmp_path / name).write_text("no certificate")
    said = []
    with pytest.raises(InputError, match=r"--tls-cert .*expected a certificate and its key"):
        serve(Settings(port=0, certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem"), said.append)
    assert said == []
