"""Keys of a namespace: each with a name and a role, rotated and revoked one by one."""

from __future__ import annotations

from hashlib import sha256

import orjson
import pytest

from tests.kit.actions.things import StandingClock
from xingqiao.actions import (
    ConflictError,
    Document,
    InvalidError,
    NotFoundError,
    Quotas,
    UnavailableError,
    Write,
)
from xingqiao.infra.access.keys import MAX_GRACE_MS, MAX_KEYS, USE_MS, Keys
from xingqiao.infra.access.namespaces import Namespaces
from xingqiao.infra.access.roles import Role
from xingqiao.infra.stores import MemoryStore

OWN = "23bc46b1:the-key-of-the-namespace"
GRACE_MS = 60_000
REVOKED = pytest.mark.parametrize("name", ["ci", "admin"])


class World:
    """The keys of a store with the namespace `guest`."""

    def __init__(self):
        self.store, self.clock = MemoryStore(), StandingClock()

    async def start(self):
        self.namespaces = Namespaces(self.store, self.clock, Quotas(), b"secret")
        await self.namespaces.load()
        self.keys = Keys(self.store, self.clock, self.namespaces)
        await self.keys.load()

    def role(self, credentials):
        """The role that credentials have now; None if they are not valid."""
        identity = self.keys.identify(*credentials.split(":", 1))
        return None if identity is None else (identity.key, str(identity.role))

    def signs(self, credentials):
        """The key with which a signed request of these credentials is checked."""
        id, _, key = credentials.partition(":")
        signer = self.keys.signer(id)
        return None if signer is None or signer[1] != key else signer[0].key

    async def create(self, name="ci", role="deploy", namespace="guest"):
        return await self.keys.create(namespace, name, role, "guest/admin")

    async def stored(self):
        return [d.key async for d in self.store.documents("access-key")]


@pytest.fixture
async def world():
    made = World()
    await made.start()
    await made.namespaces.create("guest", {}, OWN)
    return made


async def test_the_key_that_a_namespace_always_had_is_its_admin_key():
    """A store of an older version: only the hash, and no document of this module."""
    world = World()
    body = {"name": "guest", "key_hash": sha256(b"an-older-key").hexdigest(), "limits": {}}
    document = Document(kind="namespace", key="user", body=orjson.dumps(body))
    await world.store.commit([Write(documents=[document])])
    await world.start()

    assert world.role("user:an-older-key") == ("admin", "admin")
    assert world.keys.list("guest") == [
        {"id": "user", "name": "admin", "role": "admin", "created": None, "createdBy": None,
         "lastUsed": world.clock.ms},
    ]  # fmt: skip
    assert world.keys.unkept
    await world.keys.keep()
    await world.start()
    assert world.signs("user:an-older-key") == "admin"


@pytest.mark.parametrize("role", Role)
async def test_a_key_has_its_role_and_lasts(world, role):
    made = await world.create("ci", role)

    assert world.role(made) == ("ci", role)
    assert world.signs(made) == "ci"
    assert world.role(made + "x") is None
    await world.start()
    assert world.role(made) == ("ci", role)
    assert world.role(OWN) == ("admin", "admin")


async def test_the_list_shows_everything_but_secrets(world):
    made = await world.create("ci", "read")
    world.clock.ms += 5
    world.role(made)
    created_ms = world.clock.ms - 5

    found = world.keys.list("guest")

    assert [key["name"] for key in found] == ["admin", "ci"]
    assert found[1] == {
        "id": made.split(":")[0], "name": "ci", "role": "read", "created": created_ms,
        "createdBy": "guest/admin", "lastUsed": world.clock.ms,
    }  # fmt: skip
    assert made.split(":")[1] not in str(found)
    assert made.split(":")[1] not in repr(vars(world.keys))
    with pytest.raises(NotFoundError):
        world.keys.list("nobody")


@REVOKED
async def test_old_credentials_are_valid_until_the_grace_period_ends(world, name):
    old = await world.create(name) if name == "ci" else OWN
    new = await world.keys.rotate("guest", name, GRACE_MS)

    assert new.split(":")[0] != old.split(":")[0]
    for _ in range(2):
        world.clock.ms += GRACE_MS // 2 - 1
        assert world.role(old) == world.role(new) == (name, "deploy" if name == "ci" else "admin")
        assert world.signs(old) == world.signs(new) == name
        await world.start()
    assert "previous" in world.keys.get("guest", name)
    world.clock.ms += 2
    assert world.role(old) is world.signs(old) is None
    assert world.role(new)[0] == world.signs(new) == name
    assert "previous" not in world.keys.get("guest", name)


@REVOKED
async def test_without_a_grace_period_old_credentials_end_at_once(world, name):
    old = await world.create(name) if name == "ci" else OWN

    new = await world.keys.rotate("guest", name, 0)

    assert world.role(old) is world.signs(old) is None
    assert world.role(new)[0] == name
    await world.start()
    assert world.role(old) is None
    assert world.role(new)[0] == name


@REVOKED
async def test_a_second_rotation_ends_the_grace_period_of_the_first(world, name):
    first = await world.create(name) if name == "ci" else OWN
    second = await world.keys.rotate("guest", name, GRACE_MS)
    third = await world.keys.rotate("guest", name, GRACE_MS)

    assert world.role(first) is None
    assert world.role(second) == world.role(third) != None  # noqa: E711  all three


@pytest.mark.parametrize(
    ("grace_ms", "fits"), [(-1, False), (0, True), (MAX_GRACE_MS, True), (MAX_GRACE_MS + 1, False)]
)
async def test_a_grace_period_has_bounds(world, grace_ms, fits):
    made = await world.create()

    if fits:
        assert world.role(await world.keys.rotate("guest", "ci", grace_ms))
    else:
        with pytest.raises(InvalidError, match="The grace period must be 0 to 2592000 seconds"):
            await world.keys.rotate("guest", "ci", grace_ms)
        assert world.role(made)


async def test_a_revoked_key_ends_at_once_with_its_previous_credentials(world):
    old = await world.create()
    new = await world.keys.rotate("guest", "ci", GRACE_MS)
    other = await world.create("other")

    assert (await world.keys.revoke("guest", "ci"))["name"] == "ci"

    assert world.role(old) is world.role(new) is world.signs(new) is None
    assert world.role(other) == ("other", "deploy")
    await world.start()
    assert world.role(new) is None
    assert await world.stored() == ["guest/other"]
    with pytest.raises(NotFoundError, match="The namespace has no key 'ci'"):
        await world.keys.revoke("guest", "ci")
    with pytest.raises(NotFoundError):
        await world.keys.rotate("guest", "ci", 0)


async def test_the_namespaces_own_key_cannot_be_revoked(world):
    with pytest.raises(ConflictError, match="rotate it with a grace period of 0"):
        await world.keys.revoke("guest", "admin")

    assert world.role(OWN)


async def test_the_keys_of_a_deleted_namespace_end_with_it(world):
    made = await world.create()
    own = await world.keys.rotate("guest", "admin", GRACE_MS)

    await world.keys.delete_namespace("guest")

    assert world.role(made) is world.role(own) is world.role(OWN) is None
    await world.start()
    assert world.role(made) is world.role(own) is world.role(OWN) is None
    assert await world.stored() == []
    with pytest.raises(NotFoundError):
        await world.create("late")


async def test_keys_of_a_namespace_that_an_older_version_deleted_are_not_read(world):
    made = await world.create()
    await world.namespaces.delete("guest")
    await world.start()

    assert world.role(made) is None


@pytest.mark.parametrize("name", ["a", "anna.lee@example.org", "CI_2-x", "9", "a" * 64])
async def test_names_may_be_these(world, name):
    assert world.role(await world.create(name)) == (name, "deploy")


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "a/b", ".a", "-a", "ä", "a\n", "a" * 65, "admin", "action"]
)
async def test_names_may_not_be_these(world, name):
    with pytest.raises(InvalidError, match="cannot be used for a key"):
        await world.create(name)

    assert await world.stored() == []


@pytest.mark.parametrize("role", ["", "owner", "ADMIN", "look"])
async def test_an_unknown_role_is_refused_and_the_roles_are_named(world, role):
    with pytest.raises(InvalidError, match="must be one of read, invoke, work, deploy, admin, not"):
        await world.create("ci", role)


async def test_a_name_is_used_once_in_a_namespace(world):
    await world.create()
    await world.namespaces.create("team", {})

    with pytest.raises(ConflictError, match="The key 'ci' already exists"):
        await world.create()
    assert await world.create(namespace="team")


async def test_a_namespace_has_a_bounded_number_of_keys(world):
    await world.keys.rotate("guest", "admin", GRACE_MS)  # its own key does not count
    for number in range(MAX_KEYS):
        await world.create(f"key-{number}")

    with pytest.raises(ConflictError, match="The namespace has 100 keys, which is the limit"):
        await world.create("more")
    await world.keys.revoke("guest", "key-7")
    assert await world.create("more")


# --- last use ----------------------------------------------------------------------------------


async def test_the_last_use_is_stored_now_and_then(world):
    made = await world.create()
    for used_ms, due in ((0, True), (USE_MS - 1, False), (1, True)):
        world.clock.ms += used_ms
        world.role(made)
        assert world.keys.unkept is due
        await world.keys.keep()
        assert not world.keys.unkept
        assert world.keys.get("guest", "ci")["lastUsed"] == world.clock.ms

    await world.start()
    assert world.keys.get("guest", "ci")["lastUsed"] == world.clock.ms


async def test_a_store_that_is_full_delays_the_last_use(world, monkeypatch):
    async def commit(_):
        raise UnavailableError("the disk is full")

    world.role(await world.create())
    with monkeypatch.context() as patched:
        patched.setattr(world.store, "commit", commit)
        await world.keys.keep()
    assert world.keys.unkept

    await world.keys.keep()
    assert not world.keys.unkept


# --- keys of actions ---------------------------------------------------------------------------


async def test_an_action_may_deploy_and_not_manage_keys(world):
    key = world.namespaces.action_key("guest", world.clock.ms + 1000)

    assert world.role(key) == ("action", "deploy")
    assert world.keys.get("guest", "admin")["lastUsed"] is None


async def test_a_running_action_keeps_its_key_during_the_grace_period(world):
    key = world.namespaces.action_key("guest", world.clock.ms + 10 * GRACE_MS)
    id, _, minted = key.partition(":")
    session = minted.rpartition("-")[0]
    await world.keys.rotate("guest", "admin", GRACE_MS)

    assert world.role(key) == ("action", "deploy")
    assert world.keys.signer(id, session)[0].key == "action"
    assert world.keys.signer(id, session)[1] == minted
    assert world.keys.signer(id, "action-zz") is None
    world.clock.ms += GRACE_MS
    assert world.role(key) is None
    assert world.keys.signer(id, session) is None


async def test_a_further_key_mints_nothing(world):
    id, _, _ = (await world.create()).partition(":")
    _, _, minted = world.namespaces.action_key("guest", world.clock.ms + 1000).partition(":")

    assert world.role(f"{id}:{minted}") is None
    assert world.keys.signer(id, minted.rpartition("-")[0]) is None


async def test_an_id_is_shown_by_the_name_of_its_key(world):
    made = await world.create()

    assert world.keys.name_of(made.split(":")[0]) == "guest/ci"
    assert world.keys.name_of(OWN.partition(":")[0]) == "guest/admin"
    assert world.keys.name_of("nobody") == ""


# --- proofs that are kept ------------------------------------------------------------------------


async def proved(world, credentials):
    """Proves a key twice, so that the second time its proof is there."""
    first, again = world.role(credentials), world.role(credentials)
    assert first == again
    return again


async def test_a_kept_proof_does_not_outlive_its_key(world):
    made = await world.create("ci", "deploy")
    assert await proved(world, made) == ("ci", "deploy")

    await world.keys.revoke("guest", "ci")

    assert world.role(made) is None


async def test_a_kept_proof_does_not_outlive_a_role(world):
    made = await world.create("ci", "deploy")
    await proved(world, made)
    await world.keys.revoke("guest", "ci")
    other = await world.create("ci", "read")

    assert world.role(made) is None
    assert await proved(world, other) == ("ci", "read")


async def test_a_kept_proof_does_not_outlive_a_rotation(world):
    made = await world.create("ci", "deploy")
    for name, before in (("ci", made), ("admin", OWN)):
        await proved(world, before)
        after = await world.keys.rotate("guest", name, 0)
        assert world.role(before) is None
        assert (await proved(world, after))[0] == name


async def test_a_kept_proof_does_not_outlive_a_grace_period(world):
    made = await world.create("ci", "deploy")
    for name, before in (("ci", made), ("admin", OWN)):
        await proved(world, before)
        await world.keys.rotate("guest", name, GRACE_MS)
        assert (await proved(world, before))[0] == name
        world.clock.ms += GRACE_MS - 1
        assert (await proved(world, before))[0] == name
        world.clock.ms += 1
        assert world.role(before) is None


async def test_a_kept_proof_does_not_outlive_its_namespace(world):
    made = await world.create("ci", "deploy")
    for credentials in (made, OWN):
        await proved(world, credentials)

    await world.keys.delete_namespace("guest")

    assert [world.role(credentials) for credentials in (made, OWN)] == [None, None]


async def test_a_kept_proof_does_not_outlive_credentials_that_the_operator_replaces(world):
    await proved(world, OWN)

    await world.namespaces.rotate("guest", "23bc46b1:another-key-of-the-namespace")

    assert world.role(OWN) is None
    assert (await proved(world, "23bc46b1:another-key-of-the-namespace"))[0] == "admin"


async def test_the_key_of_a_running_action_is_proved_each_time(world):
    minted = world.namespaces.action_key("guest", world.clock.ms)
    assert await proved(world, minted) == ("action", "deploy")

    world.clock.ms += 60_001

    assert world.role(minted) is None


async def test_a_refusal_is_not_kept(world):
    assert world.role("ci-id:ci-secret-of-the-key") is None
    assert world.role(OWN + "x") is None
    await world.namespaces.rotate("guest", "ci-id:ci-secret-of-the-key")

    assert world.role("ci-id:ci-secret-of-the-key")[0] == "admin"


async def test_a_kept_proof_still_notes_when_the_key_is_used(world):
    made = await world.create("ci", "read")
    await proved(world, made)
    world.clock.ms += USE_MS

    world.role(made)

    assert world.keys.get("guest", "ci")["lastUsed"] == world.clock.ms
