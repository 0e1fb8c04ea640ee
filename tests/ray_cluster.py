"""A cluster of Ray on this machine with a node for each actor, in a process of its own, and its actors' processes.

`python -m tests.ray_cluster PORT NODES [GPUS]` starts one and says "ready"; then each line on its standard input is
obeyed: "lose" takes its last node away, and the end of the input ends it.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = "RAUQ_TEST_CLUSTER"
PATIENCE = 120.0  # seconds: a cluster starts in 5, on a busy machine in 40
POLL_SECONDS = 0.02
ROOT = Path(__file__).parents[1]


class Started:
    """A running cluster: its address, and the faults that can be injected into it."""

    def __init__(self, process, port, mark):
        self.process, self.address, self.mark = process, f"ray://127.0.0.1:{port}", mark

    def lose_node(self):
        """Take the last node away, without a warning."""
        self._say("lose")

    def kill_actor(self):
        """Kill an actor, once there is one; its id."""
        return kill_actor(self.mark)

    def kill_head(self):
        """Kill all of its processes, those of its nodes included."""
        for pid in _marked(self.mark):
            if pid != self.process.pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _say(self, word):
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().strip() == "done"


def kill_actor(mark):
    """Kill an actor that has begun, among the processes with `mark` in their environment, once there is one; its id.

    It may be between two shards: on a busy machine a short answer ends before it is seen.
    """
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for pid in _marked(mark):
            if _title(pid).startswith("ray::Model"):
                os.kill(pid, signal.SIGKILL)
                return pid
        time.sleep(POLL_SECONDS)
    raise TimeoutError


def _marked(mark):
    """Processes with `mark` in their environment."""
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if mark in _read(path)]


def _read(path):
    try:
        return path.read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""


def _title(pid):
    return _read(Path(f"/proc/{pid}/cmdline")).decode(errors="replace")


def free_port():
    """A port that nothing listens to."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextmanager
def cluster(folder, *, nodes=2, gpus=0, **environment):
    """A cluster whose files are in `folder`, a short path; every node has a processor and these GPUs, declared only."""
    port, mark = free_port(), uuid.uuid4().hex
    given = {**os.environ, MARK: mark, "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": str(folder), **environment}
    command = [sys.executable, "-m", "tests.ray_cluster", str(port), str(nodes), str(gpus)]
    with subprocess.Popen(
        command, cwd=ROOT, env=given, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            assert process.stdout.readline().strip() == "ready"
            yield Started(process, port, mark.encode())
        finally:
            process.stdin.close()
            process.wait(PATIENCE)


def serve(port, nodes, gpus):
    """Run a cluster until the standard input ends."""
    from ray.cluster_utils import Cluster

    own = {"num_cpus": 1, "num_gpus": gpus, "include_dashboard": False}
    running = Cluster(initialize_head=True, head_node_args={**own, "ray_client_server_port": port})
    others = [running.add_node(**own) for _ in range(nodes - 1)]
    _tell("ready")
    for _ in sys.stdin:
        running.remove_node(others.pop(), allow_graceful=False)
        _tell("done")
    running.shutdown()


def _tell(word):
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
