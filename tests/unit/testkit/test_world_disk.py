"""A kill leaves what was committed, and nothing else; the dead can write no more."""

import sqlite3

import anyio
import pytest

from testkit.virtual.run import World, run_virtual
from testkit.world.disk import SimDisk


def test_what_was_committed_survives_a_kill_and_an_open_transaction_does_not() -> None:
    disk = SimDisk()
    seen: list[list[tuple[int]]] = []
    kept: list[sqlite3.Connection] = []

    async def write() -> None:
        connection = disk.connect("journal")
        kept.append(connection)
        connection.execute("CREATE TABLE t (x INTEGER)")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("COMMIT")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (2)")
        await anyio.sleep_forever()

    async def read() -> None:
        seen.append(disk.connect("journal").execute("SELECT x FROM t").fetchall())

    async def scenario(world: World) -> None:
        process = world.loop.start_process("E1", write)
        await anyio.sleep(1)
        world.loop.kill(process)
        world.loop.start_process("E1", read)
        await anyio.sleep(1)

    run_virtual(scenario)
    disk.close()
    assert seen == [[(1,)]]
    with pytest.raises(sqlite3.ProgrammingError):
        kept[0].execute("COMMIT")


def test_a_file_belongs_to_one_living_process() -> None:
    disk = SimDisk()
    refused: list[str] = []

    async def hold() -> None:
        disk.connect("journal")
        await anyio.sleep_forever()

    async def intrude() -> None:
        try:
            disk.connect("journal")
        except sqlite3.OperationalError as error:
            refused.append(str(error))

    async def scenario(world: World) -> None:
        world.loop.start_process("E1", hold)
        await anyio.sleep(1)
        world.loop.start_process("E2", intrude)
        await anyio.sleep(1)

    run_virtual(scenario)
    disk.close()
    assert refused == ["journal is open in E1"]


def test_a_backup_can_be_put_back() -> None:
    disk = SimDisk()
    seen: list[list[tuple[int]]] = []

    async def write() -> None:
        connection = disk.connect("store")
        connection.execute("CREATE TABLE IF NOT EXISTS t (x INTEGER)")
        connection.execute("INSERT INTO t VALUES ((SELECT count(*) FROM t))")
        seen.append(connection.execute("SELECT x FROM t").fetchall())

    async def scenario(world: World) -> None:
        backup = b""
        for round_number in range(3):
            process = world.loop.start_process("host", write)
            await anyio.sleep(1)
            world.loop.kill(process)
            if round_number == 0:
                backup = disk.image("store")
        disk.restore("store", backup)
        world.loop.start_process("host", write)
        await anyio.sleep(1)

    run_virtual(scenario)
    disk.close()
    assert seen == [[(0,)], [(0,), (1,)], [(0,), (1,), (2,)], [(0,), (1,)]]
