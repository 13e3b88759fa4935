"""The guarded way out: which addresses may be asked, what goes where, and what is told when it does not."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from contextlib import asynccontextmanager
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rigs.answers import METADATA, always, answer, held, oversized, redirect
from tests.rigs.strict_host import strict_host
from xingqiao.adapters import Egress, EgressError, Fault, Rules
from xingqiao.adapters.egress import IDLE_S, _lasting, merged
from xingqiao.adapters.port import HttpRequest, Response
from xingqiao.infra.clock import SystemClock

SECRET = "a-secret-that-nobody-sees"
MOST = 10_000
SOON_MS = 10_000
HERE = ("127.0.0.1",)


@pytest.fixture
def host():
    with strict_host("elsewhere.example", "here.example") as found:
        yield found


@asynccontextmanager
async def opened(*allowed):
    async with Egress(Rules(allowed), SystemClock()) as egress:
        yield egress


async def send(url, *, allowed=HERE, method="GET", within_ms=SOON_MS, most=MOST, **fields):
    async with opened(*allowed) as egress:
        outgoing = HttpRequest(method=method, url=url, **fields)
        return await egress.send(outgoing, SystemClock().now_ms() + within_ms, most)


def told(fault):
    assert isinstance(fault, Fault), fault
    assert SECRET not in str(fault)
    return fault.code, fault.may_have_run


# --- which addresses ---------------------------------------------------------------------------

PUBLIC = [
    "8.8.8.8",
    "93.184.216.34",
    "2606:4700::1111",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
    "2002:808:808::1",
]
NOT_PUBLIC = [
    "127.0.0.1", "127.8.9.10", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1", "100::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "2002:7f00:1::1", "2002:a00:1::", "2001:0:1::1",
    "2002:e000:1::", "168.63.129.16", "192.0.0.192", "192.88.99.1", "::ffff:168.63.129.16",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_asked(address):
    assert Rules().allow("name.example", address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_others_may_not(address):
    assert not Rules().allow("name.example", address)


@given(st.ip_addresses(v=4))
def test_an_address_in_another_is_what_it_is_alone(address):
    alone = Rules().allow("h", str(address))
    wrapped = [f"::ffff:{address}", str(ipaddress.IPv6Address((0x64FF9B << 96) | int(address)))]

    assert [Rules().allow("h", other) for other in wrapped] == [alone, alone]
    six = ipaddress.IPv6Address((0x2002 << 112) | (int(address) << 80) | 1)
    assert Rules().allow("h", str(six)) == alone


@pytest.mark.parametrize(
    ("allowed", "host", "address", "may"),
    [
        ("10.0.0.0/8", "h", "10.1.2.3", True),
        ("10.0.0.0/8", "h", "11.1.2.3", True),  # is public
        ("10.0.0.0/8", "h", "192.168.0.1", False),
        ("10.1.2.3", "h", "10.1.2.3", True),
        ("10.1.2.3", "h", "10.1.2.4", False),
        ("10.0.0.0/8", "h", "::ffff:10.1.2.3", True),
        ("fd00::/8", "h", "fd00::1", True),
        ("fd00::/8", "h", "127.0.0.1", False),
        ("::1", "h", "::1", True),
        ("db.internal", "db.internal", "10.1.2.3", True),
        ("DB.internal", "db.INTERNAL", "10.1.2.3", True),
        ("db.internal", "db.internal.evil.com", "10.1.2.3", False),
        ("db.internal", "evil.db.internal", "10.1.2.3", False),
    ],
)
def test_the_operator_may_allow_more(allowed, host, address, may):
    assert Rules([allowed]).allow(host, address) is may


@pytest.mark.parametrize(
    "rule", ["10.0.0.1/8", "10.0.0.0/33", "http://h", "h:80", "*.internal", "a b", "a_b/8"]
)
def test_a_rule_that_is_none_is_named(rule):
    with pytest.raises(EgressError, match="is neither a network such as"):
        Rules([rule])


SPELLINGS = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "0", "0.0.0.0",
    "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "localhost", "LOCALHOST", "localhost.",
    "127.0.0.1.", "①②⑦.0.0.1", "127。0。0。1", "\uff11\uff12\uff17.0.0.1", "%31%32%37.0.0.1",
]  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
async def test_this_machine_is_refused_however_it_is_spelled(host, name):
    port = host.url.rpartition(":")[2]

    fault = await send(f"http://{name}:{port}/", allowed=())

    assert told(fault)[1] == "no"
    assert not fault.transient or fault.code == "Unavailable"
    assert host.requests == []


@pytest.mark.parametrize("name", SPELLINGS)
async def test_a_check_refuses_them_too(host, name):
    port = host.url.rpartition(":")[2]
    async with opened() as egress:
        fault = await egress.reach(f"http://{name}:{port}/", SystemClock().now_ms() + SOON_MS)

    assert told(fault)[1] == "no"


async def test_a_check_connects_and_asks_for_nothing(host):
    async with opened(*HERE) as egress:
        assert await egress.reach(host.url, SystemClock().now_ms() + SOON_MS) is None
    assert host.requests == []


# --- names, and what they mean from moment to moment -------------------------------------------


@pytest.fixture
def names(monkeypatch):
    """What names mean, an answer a question; the last stays."""
    known = {}

    async def getaddrinfo(self, name, port, **_):
        addresses = known.get(name)
        if not addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        found = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        return [
            (
                socket.AF_INET6 if ":" in one else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (one, port),
            )
            for one in found.split()
        ]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return known


async def test_a_name_that_means_a_private_address_is_refused(host, names):
    names["here.example"] = ["127.0.0.1"]
    port = host.url.rpartition(":")[2]

    fault = await send(f"http://here.example:{port}/", allowed=())

    assert told(fault) == ("Permission", "no")
    assert (
        fault.error["message"]
        == "here.example is not a public address, and the operator does not allow it (XINGQIAO_EGRESS_ALLOW)"
    )
    assert host.requests == []


async def test_a_name_that_meant_a_public_address_is_looked_up_when_it_is_connected_to(host, names):
    names["here.example"] = ["127.0.0.1", "127.0.0.2"]  # only the first is allowed
    port = host.url.rpartition(":")[2]
    host.on("GET", "/", answer({}))

    async with opened("127.0.0.1") as egress:
        outgoing, by_ms = (
            HttpRequest(method="GET", url=f"http://here.example:{port}/"),
            SystemClock().now_ms() + SOON_MS,
        )
        first = await egress.send(outgoing, by_ms, MOST)
        host.cut_unread(0)  # so that there is another connection
        second = await egress.send(outgoing, by_ms, MOST)

    assert first.status == 200
    assert told(second)[0] in ("Permission", "Lost")
    assert len(host.requests) == 1


async def test_of_several_addresses_only_those_that_are_allowed_are_asked(host, names):
    names["here.example"] = ["127.0.0.9 127.0.0.1"]
    port = host.url.rpartition(":")[2]
    host.on("GET", "/", answer({}))

    assert (await send(f"http://here.example:{port}/")).status == 200


async def test_a_name_that_is_none_never_ran(names):
    fault = await send("http://nowhere.example/")

    assert told(fault) == ("Unavailable", "no")
    assert fault.transient


# --- credentials -------------------------------------------------------------------------------


async def test_no_credentials_go_without_tls_to_where_the_operator_has_not_said_so(names):
    names["here.example"] = ["93.184.216.34"]
    secrets = {"Authorization": f"Bearer {SECRET}"}

    for fields in ({"secrets": secrets}, {"private": True}):
        fault = await send("http://here.example/", **fields)

        assert told(fault) == ("Permission", "no")
        assert "use https://" in fault.error["message"]


async def test_where_the_operator_has_said_so_they_go(host):
    host.on("GET", "/", answer({}), needs={"authorization": f"Bearer {SECRET}"})

    answered = await send(f"{host.url}/", secrets={"Authorization": f"Bearer {SECRET}"})

    assert answered.status == 200


@pytest.mark.parametrize("text", ["a\r\nX-Other: b", "a\n", "a\0b", " a", "a "])
@pytest.mark.parametrize("where", ["headers", "secrets"])
async def test_a_header_that_is_none_is_not_sent_nor_shown(host, where, text):
    fault = await send(
        f"{host.url}/", **{where: {"X-Key": SECRET + text if text[0] != " " else text}}
    )

    assert told(fault) == ("InvalidRequest", "no")
    assert not fault.transient
    assert host.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1/?code=a-secret-that-nobody-sees",
        "http://",
        "http://:80/",
        "//a",
        "http://h:x/",
    ],
)
async def test_an_address_that_is_none_is_told_without_what_is_in_it(url):
    assert told(await send(url))[1] == "no"


@pytest.mark.parametrize(
    "name",
    ["Transfer-Encoding", "content-length", "Connection", "Host", "expect", "a: b", "a\r\nb", "", "é"],
)  # fmt: skip
async def test_a_header_cannot_say_where_a_request_ends(host, name):
    fault = await send(f"{host.url}/", method="POST", body=b"0\r\n\r\n", headers={name: "chunked"})

    assert told(fault) == ("InvalidRequest", "no")
    assert "is not an allowed header" in fault.error["message"]
    assert host.requests == []


def test_later_headers_replace_earlier_ones_however_they_are_written():
    assert merged({"Accept": "a", "X-A": "1"}, {"accept": "b"}) == {"accept": "b", "X-A": "1"}


# --- redirects ---------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_what_is_read_is_followed_to_the_same_host_with_its_secrets(host, status):
    host.on("GET", "/", redirect("/there", status))
    host.on("GET", "/there", answer({"n": 1}), needs={"x-key": SECRET})

    answered = await send(f"{host.url}/", secrets={"X-Key": SECRET}, headers={"X-Mine": "1"})

    assert answered.body == b'{"n": 1}'
    assert host.requests[-1].headers["x-mine"] == "1"


@pytest.mark.parametrize("status", [307, 308])
async def test_what_is_written_is_sent_on_as_it_is(host, status):
    host.on("POST", "/", redirect("/there", status))
    host.on("POST", "/there", answer({}))

    await send(
        f"{host.url}/", method="POST", body=b"{}", headers={"Content-Type": "application/json"}
    )

    assert host.requests[-1].body == b"{}"


@pytest.mark.parametrize("status", [301, 302])
async def test_what_is_written_is_not_sent_on_to_where_it_has_moved(host, status):
    host.on("POST", "/", redirect(f"/there?code={SECRET}", status))

    fault = await send(
        f"{host.url}/", method="POST", body=b"{}", headers={"Content-Type": "text/plain"}
    )

    assert told(fault) == ("BadResponse", "unknown")
    assert f"{host.url}/there: change the action's URL" in fault.error["message"]


async def test_see_other_reads_and_what_was_written_has_run(host):
    host.on("POST", "/", redirect("http://127.0.0.1:1/", 303))

    fault = await send(
        f"{host.url}/", method="POST", body=b"{}", headers={"Content-Type": "text/plain"}
    )

    assert told(fault) == ("Unavailable", "unknown")


async def test_a_head_stays_one(host):
    host.on("HEAD", "/", redirect("/there", 303))
    host.on("HEAD", "/there", answer("text"))

    answered = await send(f"{host.url}/", method="HEAD")

    assert (answered.status, answered.body) == (200, b"")


async def test_another_origin_is_told_no_secret(host, names):
    names["here.example"] = names["elsewhere.example"] = ["127.0.0.1"]
    port = host.url.rpartition(":")[2]
    host.on("GET", "/", redirect(f"http://elsewhere.example:{port}/there", 302))
    host.on("GET", "/there", answer({}))
    headers = {
        "X-Completion-Token": SECRET,
        "X-Mine": SECRET,
        "traceparent": f"00-{'1' * 32}-{'2' * 16}-01",
    }

    await send(f"http://here.example:{port}/", headers=headers, secrets={"X-Key": SECRET})

    there = host.requests[-1]
    assert there.headers["host"] == f"elsewhere.example:{port}"
    assert SECRET not in str(there)
    assert "traceparent" in there.headers


async def test_what_is_private_goes_to_no_other_origin(host, names):
    names["here.example"] = ["127.0.0.1"]
    port = host.url.rpartition(":")[2]
    host.on("POST", "/", redirect(f"http://here.example:{port}/there", 307))

    fault = await send(
        f"{host.url}/",
        method="POST",
        private=True,
        body=SECRET.encode(),
        headers={"Content-Type": "text/plain"},
    )

    assert told(fault) == ("BadResponse", "unknown")
    assert len(host.requests) == 1


async def test_what_is_secret_in_an_address_is_not_sent_on_and_may_lead_elsewhere(host, names):
    """As functions do that answer with where their result lies, such as in a store of blobs."""
    names["here.example"] = ["127.0.0.1"]
    port = host.url.rpartition(":")[2]
    host.on("GET", "/", redirect(f"http://here.example:{port}/there", 302))
    host.on("GET", "/there", answer({}))

    answered = await send(f"{host.url}/?code={SECRET}", private=True)

    assert answered.status == 200
    assert SECRET not in str(host.requests[-1])


@pytest.mark.parametrize(
    "to",
    [
        METADATA,
        "http://127.0.0.2/",
        "http://[::1]/",
        "http://2130706434/",
        "file:///etc/passwd",
        "gopher://127.0.0.1/",
    ],
)
async def test_a_redirect_leads_nowhere_that_could_not_be_asked_at_once(host, to):
    host.on("GET", "/", redirect(to, 302))

    assert told(await send(f"{host.url}/"))[1] == "no"
    assert len(host.requests) == 1


async def test_it_is_redirected_so_often_and_no_more(host):
    host.on("GET", "/", always(redirect("/", 302)))

    fault = await send(f"{host.url}/")

    assert told(fault) == ("BadResponse", "unknown")
    assert len(host.requests) == 6


# --- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("told_so", [True, False])
async def test_a_body_is_read_so_far_and_no_further(host, told_so):
    host.on("GET", "/", oversized(MOST, told=told_so), oversized(MOST + 1, told=told_so))

    async with opened(*HERE) as egress:
        outgoing, by_ms = (
            HttpRequest(method="GET", url=f"{host.url}/"),
            SystemClock().now_ms() + SOON_MS,
        )
        fits, too_large = [await egress.send(outgoing, by_ms, MOST) for _ in range(2)]

    assert isinstance(fits, Response)
    assert told(too_large) == ("PayloadTooLarge", "unknown")


async def test_what_is_refused_at_length_is_still_refused(host):
    host.on("GET", "/", answer("x" * (2 * MOST), 429))

    answered = await send(f"{host.url}/")

    assert answered.status == 429


@pytest.mark.parametrize("part", ["headers", "body"])
async def test_what_is_slow_is_given_up_at_the_deadline(host, part):
    slow = held({"a": "b" * 100}, part=part)
    host.on("GET", "/", slow)

    fault = await send(f"{host.url}/", within_ms=1000)
    slow.release()

    assert told(fault) == ("Timeout", "unknown")
    assert fault.transient


async def test_what_comes_after_its_deadline_is_not_sent(host):
    assert told(await send(f"{host.url}/", within_ms=-1000))[1] in ("no", "unknown")


async def test_nothing_is_sent_twice_on_a_connection_that_has_been_cut(host):
    host.on("GET", "/", answer({}), answer({}))
    async with opened(*HERE) as egress:
        outgoing, by_ms = (
            HttpRequest(method="GET", url=f"{host.url}/"),
            SystemClock().now_ms() + SOON_MS,
        )
        await egress.send(outgoing, by_ms, MOST)
        host.cut_unread(1)
        second = await egress.send(outgoing, by_ms, MOST)

    assert isinstance(second, Response) or told(second) == ("Lost", "unknown")
    assert len(host.requests) <= 2


# --- what the operator has said ----------------------------------------------------------------


async def test_where_the_operator_sends_a_request_it_goes(host):
    host.on("GET", "/here", answer("well"))

    secrets = {"Authorization": SECRET}
    response = await send(f"{host.url}/here", allowed=(), secrets=secrets, by_operator=True)

    assert (response.status, host.requests[0].headers["authorization"]) == (200, SECRET)


async def test_what_is_redirected_from_there_is_asked_as_all_else_is(host):
    host.on("GET", "/there", redirect(METADATA), redirect("/here"))
    host.on("GET", "/here", answer("well"))

    fault = await send(f"{host.url}/there", allowed=(), by_operator=True)
    within = await send(f"{host.url}/there", allowed=(), by_operator=True)

    assert told(fault) == ("Permission", "no")
    assert within.status == 200


def test_a_connection_that_is_silent_for_long_is_kept():
    address = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 9))
    with _lasting(address) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == IDLE_S


async def test_a_large_body_is_sent_whole(host):
    body = b"x" * (3 << 20)
    host.on("POST", "/large", answer("well"))

    await send(
        f"{host.url}/large", method="POST", body=body, headers={"Content-Type": "text/plain"}
    )

    seen = host.requests[0]
    assert (seen.body == body, seen.headers["content-length"]) == (True, str(len(body)))


async def test_a_header_that_is_no_text_is_made_one(host):
    host.on("GET", "/", answer({"n": 1}, headers={"X-Request-Id": "\xff\xfe"}))

    response = await send(f"{host.url}/")

    assert response.headers["x-request-id"].encode()


async def test_a_redirect_to_what_is_no_address_is_a_bad_response(host):
    host.on("GET", "/", answer("", 307, {"Location": "http://[::1"}))

    assert told(await send(f"{host.url}/"))[0] == "BadResponse"


# --- who we are --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "seen"),
    [({}, f"xingqiao/{version('xingqiao')}"), ({"user-agent": "a shop"}, "a shop")],
)
async def test_a_request_says_who_sends_it_unless_an_action_says_otherwise(host, given, seen):
    host.on("GET", "/a", answer({}))

    await send(f"{host.url}/a", headers=given)

    assert host.requests[0].headers["user-agent"] == seen
