"""A cluster of our own answers nobody who has not its key."""

from __future__ import annotations

import asyncio

import pytest
from distributed.comm import connect

from solverscope.app.sweep.cluster import ClusterSpec, connected
from tests import loop


@pytest.mark.slow
def test_another_account_of_this_machine_cannot_speak_to_a_cluster_of_ours():
    with connected(ClusterSpec(workers=1)) as client:
        assert client.submit(sum, (1, 2)).result(60) == 3
        addresses = [client.scheduler.address, *client.scheduler_info()["workers"]]
        assert {address.partition("://")[0] for address in addresses} == {"tls"}

        async def ask(address: str) -> object:
            async with asyncio.timeout(60):
                comm = await connect(address, timeout=60)
                await comm.write({"op": "identity", "reply": True})
                return await comm.read()

        for address in addresses:
            with pytest.raises(OSError, match=r"(?i)connection|closed"):
                loop.run(ask(address.replace("tls://", "tcp://")))
