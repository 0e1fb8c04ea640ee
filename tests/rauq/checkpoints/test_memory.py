"""Free memory is what the machine has and what every control group above the process leaves."""

import os

import pytest

from rauq.checkpoints import memory
from rauq.checkpoints.memory import free_main_memory

GIGA = 2**30
NO_LIMIT = 2**63 - 4096


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Write the files in which a system says how much memory there is."""
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def machine(available=8 * GIGA):
    return {"proc/meminfo": f"MemTotal: 16777216 kB\nMemAvailable: {available // 1024} kB\n"}


def group(folder, limit, used, inactive=0):
    stat = f"anon 5\ninactive_file {inactive}\n"
    return {
        f"groups/{folder}/memory.max": str(limit),
        f"groups/{folder}/memory.current": str(used),
        f"groups/{folder}/memory.stat": stat,
    }


def test_this_machine_says_what_is_free():
    free = free_main_memory()
    assert free is not None
    assert 2**20 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_without_groups_it_is_what_the_machine_has(system):
    system(**machine())
    assert free_main_memory() == 8 * GIGA


def test_a_group_may_leave_less_and_gives_back_its_file_cache(system):
    system(**machine(), **{"proc/self/cgroup": "0::/app\n"}, **group("app", 4 * GIGA, 3 * GIGA, inactive=GIGA))
    assert free_main_memory() == 2 * GIGA


def test_every_group_above_counts(system):
    groups = group("a/b", "max", GIGA) | group("a", 3 * GIGA, GIGA)
    system(**machine(), **{"proc/self/cgroup": "0::/a/b\n"}, **groups)
    assert free_main_memory() == 2 * GIGA


def test_a_container_that_sees_its_group_as_the_topmost(system):
    system(**machine(), **{"proc/self/cgroup": "0::/somewhere/else\n"}, **group(".", 2 * GIGA, GIGA))
    assert free_main_memory() == GIGA


def test_a_group_beyond_its_limit_leaves_nothing(system):
    system(**machine(), **{"proc/self/cgroup": "0::/\n"}, **group(".", GIGA, 2 * GIGA))
    assert free_main_memory() == 0


@pytest.mark.parametrize(("limit", "free"), [(2 * GIGA, GIGA + 7), (NO_LIMIT, 8 * GIGA)])
def test_older_groups_are_read_too(system, limit, free):
    folder = "groups/memory/app"
    system(
        **machine(),
        **{"proc/self/cgroup": "4:cpu,cpuacct:/app\n3:memory:/app\n0::/\n"},
        **{f"{folder}/memory.limit_in_bytes": f"{limit}\n", f"{folder}/memory.usage_in_bytes": f"{GIGA}\n"},
        **{f"{folder}/memory.stat": "total_inactive_file 7\n"},
    )
    assert free_main_memory() == free


def test_a_system_without_information_is_unknown(system, monkeypatch):
    def unknown(_name):
        raise ValueError

    system()
    monkeypatch.setattr(os, "sysconf", unknown)
    assert free_main_memory() is None


def test_a_system_without_meminfo_is_asked_in_the_other_way(system, monkeypatch):
    system()
    monkeypatch.setattr(os, "sysconf", {"SC_AVPHYS_PAGES": 100, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert free_main_memory() == 409_600
