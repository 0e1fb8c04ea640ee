"""Answer the shards of a run on Ray: actors hold the model, and this process alone writes the run.

An actor answers one shard at a time and sends back the contents of its files, so what is in memory here and in Ray's
store is at most two shards for each actor. Actors that die are replaced, and their shards are answered again.
"""

import os
import secrets
import shlex
import signal
import socket
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from analysis.datasets.example import Example
from analysis.runs.files.shards import shard_files
from analysis.runs.files.tables import Failed
from analysis.runs.manifest import LONGEST_REASON, Machine, Manifest, Started
from analysis.runs.work import Made, Ready, Source, Undone, made, ready
from rauq.errors import InvalidInput, MissingPackage, RunError
from rauq.layout import EXTRAS_COMMAND

LOCAL, _PREFIX = "ray", "ray://"
MOST_PER_GPU = 64
MOST_DEATHS = 3  # of actors, by one shard or in a row while loading

_PROBE_SECONDS = 5.0  # Ray itself would try for over a minute
_POLL_SECONDS = 0.5
_LOADING_SECONDS = 900.0  # in which an actor has to be placed and its model loaded
_WRITERS = ("pyarrow", "safetensors")  # besides the packages of a manifest, these decide the bytes of a shard
_MODULES = ("rauq", "analysis")


class Loaded(NamedTuple):
    """What an actor says once its model is loaded: the model as a manifest has it, its writers, its node."""

    started: Started
    writers: tuple[str, ...]
    node: str


class Model:
    """An actor: a loaded model that answers shards."""

    def load(self, manifest: Manifest, threads: int) -> Loaded:
        """Load the model of a run, to compute with so many threads."""
        from rauq.model.loading import use_threads

        use_threads(threads)
        self._ready: Ready = ready(manifest)
        node = import_module("ray").get_runtime_context().get_node_id()
        return Loaded(self._ready.started, _writers(), node)

    def answer(self, shard: int, examples: Sequence[Example], machine: Machine | None) -> Made:
        """Answer the examples of a shard; `machine` is noted in it."""
        never = Event()  # the driver ends an actor instead
        found = made(self._ready, shard, examples, machine=machine, cancel=never, on_done=lambda *_: None)
        if found is None:
            message = "a shard ended without a result, though it was not cancelled"
            raise AssertionError(message)
        return replace(found, files=tuple(found.files))


def _writers() -> tuple[str, ...]:
    return tuple(f"{name} {version(name)}" for name in _WRITERS)


def ray_source(address: str, *, models_per_gpu: int = 1) -> Source:
    """Where the shards of a run are answered: on Ray.

    `address`: "ray" for a cluster of this machine that ends with the run, or ray://HOST:PORT. Where there are GPUs,
    `models_per_gpu` models share each; else there is a model for each `threads` processors.

    Raises:
        InvalidInput: another address, or a number of models that no GPU is given.
        MissingPackage: Ray is not installed.
    """
    if not 1 <= models_per_gpu <= MOST_PER_GPU:
        message = f"Got {models_per_gpu} models per GPU; give 1 to {MOST_PER_GPU}."
        raise InvalidInput(message)
    place = None if address == LOCAL else _host_and_port(address)
    if find_spec("ray") is None:
        message = f"--on needs Ray: {EXTRAS_COMMAND}"
        raise MissingPackage(message)
    return partial(_answered, place, models_per_gpu)


def _host_and_port(address: str) -> tuple[str, int]:
    with suppress(ValueError):
        parts = urlsplit(address)
        if address.startswith(_PREFIX) and parts.hostname and parts.port and not (parts.path or parts.username):
            return parts.hostname, parts.port
    message = f"Got --on {address}; give {LOCAL} for this machine, or {_PREFIX}HOST:PORT, as in ray://10.0.0.1:10001."
    raise InvalidInput(message)


def _answered(place: tuple[str, int] | None, models_per_gpu: int, undone: Undone) -> Generator[Made | None, None, None]:
    """See `Source`."""
    from rauq.model.loading import use_threads

    threads = undone.manifest.threads or use_threads(None)
    with _connected(place) as ray:
        pool = _Pool(ray=ray, undone=undone, threads=threads, per_gpu=models_per_gpu, todo=deque(undone.shards))
        try:
            yield from pool.answered()
        except _faults(ray) as error:
            message = (
                f"The connection to Ray was lost ({_first_line(error)}). Everything saved is intact: resume the run."
            )
            raise RunError(message) from error


@contextmanager
def _connected(place: tuple[str, int] | None) -> Iterator[Any]:
    """The module ray, connected; the cluster of this machine ends with it.

    Raises:
        RunError: nothing, something else than Ray, or another version of it answers at that place.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # read when ray is imported
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of a change to come
    if place is None:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=_token())  # its ports are open to the network
    else:
        _probe(*place)
    ray: Any = import_module("ray")
    with _scratch(place) as scratch, _own_signals():
        try:
            _connect(ray, place, scratch)
            yield ray
        finally:
            ray.shutdown()


@cache
def _token() -> str:
    """A secret for the cluster of this machine; Ray reads it once in a process."""
    return secrets.token_hex(32)


@contextmanager
def _scratch(place: tuple[str, int] | None) -> Iterator[str | None]:
    if place is not None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        yield folder


@contextmanager
def _own_signals() -> Iterator[None]:
    """Let SIGTERM do what it did, though Ray takes it for itself when it connects."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        with suppress(ValueError):  # in another thread than the main one Ray takes nothing
            signal.signal(signal.SIGTERM, before)


def _connect(ray: Any, place: tuple[str, int] | None, scratch: str | None) -> None:  # noqa: ANN401 - the module
    before = signal.getsignal(signal.SIGTERM)
    # Ray gives an actor one thread unless this is set; numpy then computes with as many as here.
    environment: dict[str, Any] = {
        "env_vars": {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(os.cpu_count() or 1))}
    }
    quiet = {"log_to_driver": False, "logging_level": "error"}
    if place is None:
        environment["py_executable"] = shlex.quote(sys.executable)  # Ray runs it in a shell, unquoted
        ray.init(address="local", include_dashboard=False, _temp_dir=scratch, runtime_env=environment, **quiet)
    else:
        environment["py_modules"] = [str(Path(import_module(name).__path__[0])) for name in _MODULES]
        environment["excludes"] = ["**/__pycache__"]
        address = f"{_PREFIX}{place[0]}:{place[1]}"
        refusals: tuple[type[Exception], ...] = (*_faults(ray), RuntimeError, ValueError)
        try:
            ray.init(address, runtime_env=environment, **quiet)
        except refusals as error:
            said = " ".join(str(error).split())[:LONGEST_REASON]
            message = (
                f"Ray at {address} refused the connection ({said}). It has to have the version "
                f"{ray.__version__} of Ray, the same Python, and the same token, if any (RAY_AUTH_TOKEN)."
            )
            raise RunError(message) from error
    with suppress(ValueError):
        signal.signal(signal.SIGTERM, before)


def _probe(host: str, port: int) -> None:
    """See whether a server of Ray's kind answers, before Ray tries for long.

    Raises:
        RunError: none does.
    """
    where = f"{_PREFIX}{host}:{port}"
    try:
        socket.create_connection((host, port), timeout=_PROBE_SECONDS).close()
    except OSError as error:
        message = f"Nothing answers at {where} ({error}). Start the head with: ray start --head"
        raise RunError(message) from error
    if os.environ.get("RAY_USE_TLS", "0") in ("1", "true"):
        return
    grpc: Any = import_module("grpc")
    with grpc.insecure_channel(f"{host}:{port}") as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_PROBE_SECONDS)
        except grpc.FutureTimeoutError as error:
            message = f"What answers at {where} is not Ray. Give the port of its client server, 10001 by default."
            raise RunError(message) from error


def _faults(ray: Any) -> tuple[type[Exception], ...]:  # noqa: ANN401 - the module
    """What Ray raises where its head, or the way to it, is gone."""
    return ConnectionError, ray.exceptions.RayError, import_module("grpc").RpcError


def _first_line(error: Exception) -> str:
    details = getattr(error, "details", None)  # what an error of gRPC is about, in one line
    said = str(details() if callable(details) else error).strip()
    return (said or type(error).__name__).splitlines()[0]


@dataclass(frozen=True, eq=False)
class _Worker:
    """An actor, once it is loaded with its node, and the machine to note with its shards."""

    actor: Any
    node: str = ""
    machine: Machine | None = None


@dataclass(eq=False, kw_only=True)
class _Pool:
    """The actors of a run, and what each does: `busy` with a shard, or with loading (None), or `idle`."""

    ray: Any
    undone: Undone
    threads: int
    per_gpu: int
    todo: deque[int]
    busy: dict[Any, tuple[_Worker, int | None]] = field(default_factory=dict)
    idle: list[_Worker] = field(default_factory=list)
    deaths: Counter[int] = field(default_factory=Counter)
    lost_loading: int = 0
    refused: int = 0
    heard: float = field(default_factory=time.monotonic)

    def answered(self) -> Iterator[Made | None]:
        """The shards as they come; None once cancelled."""
        while self.todo or any(shard is not None for _, shard in self.busy.values()):
            if self.undone.cancel.is_set():
                yield None
                return
            self._grow()
            self._give()
            yield from self._collected()
            self._check_loading()

    def _check_loading(self) -> None:
        """Give up where no actor comes to answer anything: Ray itself would wait forever.

        Raises:
            RunError: that has lasted too long.
        """
        loading = not self.idle and all(shard is None for _, shard in self.busy.values())
        if loading and time.monotonic() - self.heard > _LOADING_SECONDS:
            message = (
                f"No actor has loaded the model in {_LOADING_SECONDS / 60:g} minutes. Look at ray status; "
                "everything saved is intact: resume the run."
            )
            raise RunError(message)

    def _grow(self) -> None:
        """Start as many actors as there is room for and work to do."""
        shards = len(self.todo) + sum(shard is not None for _, shard in self.busy.values())
        wanted = min(self._room() - self.refused, shards)
        for _ in range(wanted - len(self.busy) - len(self.idle)):
            actor = self.ray.remote(Model).options(**self._share()).remote()
            self.busy[actor.load.remote(self.undone.manifest, self.threads)] = (_Worker(actor), None)
        if not (self.busy or self.idle):
            message = (
                f"No node of Ray has {self.threads} processors, one for each thread of a model. Give fewer with "
                "--threads, or add a node; everything saved is intact."
            )
            raise RunError(message)

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self.ray.nodes() if node["Alive"]]

    def _on_gpu(self) -> bool:
        wanted = self.undone.manifest.request.device != "cpu"
        return wanted and any(node["Resources"].get("GPU", 0) for node in self._nodes())

    def _share(self) -> dict[str, float]:
        """What an actor takes of its node."""
        return {"num_gpus": 1 / self.per_gpu, "num_cpus": 0} if self._on_gpu() else {"num_cpus": self.threads}

    def _room(self) -> int:
        """How many actors the living nodes hold."""
        name, each = ("GPU", 1 / self.per_gpu) if self._on_gpu() else ("CPU", self.threads)
        return sum(int(node["Resources"].get(name, 0) / each) for node in self._nodes())

    def _give(self) -> None:
        """Let idle actors answer the next shards."""
        while self.todo and self.idle:
            worker, shard = self.idle.pop(), self.todo.popleft()
            numbers = self.undone.manifest.numbers(shard)
            examples = self.undone.examples[numbers.start : numbers.stop]
            self.busy[worker.actor.answer.remote(shard, examples, worker.machine)] = (worker, shard)

    def _collected(self) -> Iterator[Made]:
        """What has become of actors since the last look."""
        done, _ = self.ray.wait(list(self.busy), timeout=_POLL_SECONDS)
        for ref in done:
            worker, shard = self.busy.pop(ref)
            self.heard = time.monotonic()
            try:
                found = self.ray.get(ref)
            except self.ray.exceptions.RayTaskError as error:
                raise self._raised(error) from None
            except self.ray.exceptions.RayError as error:
                yield from self._lost(worker, shard, error)
                continue
            if shard is None:
                self._welcome(worker, found)
            else:
                self.idle.append(worker)
                self._give()  # before this shard is written
                self.undone.on_done(found.examples, sum(timing.tokens for timing in found.timings))
                yield found

    def _raised(self, error: Exception) -> Exception:
        """What an actor raised, unless that would be taken for a fault of Ray itself."""
        cause = getattr(error, "cause", None)
        if isinstance(cause, Exception) and not isinstance(cause, _faults(self.ray)):
            return cause
        return RunError(f"An actor failed ({_cause(error)}). Everything saved is intact: resume the run.")

    def _welcome(self, worker: _Worker, loaded: Loaded) -> None:
        """Let a loaded model answer, or end it if the run was started with another one.

        Raises:
            RunError: it was the last one.
        """
        self.lost_loading = 0
        try:
            _check_writers(loaded.writers)
            machine = self.undone.accept(loaded.started)
        except RunError:
            self.refused += 1
            self.ray.kill(worker.actor)
            if self.refused >= self._room():
                raise
        else:
            self.idle.append(_Worker(worker.actor, loaded.node, machine))

    def _lost(self, worker: _Worker, shard: int | None, error: Exception) -> Iterator[Made]:
        """Note that an actor has died; a shard that has outlived several is given up."""
        with suppress(self.ray.exceptions.RayError, ValueError):
            self.ray.kill(worker.actor)  # it may only be unreachable, and would continue
        if shard is None:
            self._lost_while_loading(error)
            return
        self.deaths[shard] += any(node["NodeID"] == worker.node for node in self._nodes())
        if self.deaths[shard] < MOST_DEATHS:
            self.todo.appendleft(shard)
        else:
            yield self._given_up(shard, error)

    def _lost_while_loading(self, error: Exception) -> None:
        self.lost_loading += 1
        if self.lost_loading >= MOST_DEATHS:
            message = (
                f"{MOST_DEATHS} actors in a row died while they loaded the model ({_cause(error)}). "
                "It may need more memory than a node has: give fewer models with --threads or --models-per-gpu."
            )
            raise RunError(message)

    def _given_up(self, shard: int, error: Exception) -> Made:
        """A shard of failed rows, with the reason."""
        request, numbers = self.undone.manifest.request, self.undone.manifest.numbers(shard)
        reason = f"{MOST_DEATHS} actors died while they answered examples {numbers.start} to {numbers.stop - 1}"
        rows = [Failed(number=number, error=f"{reason}. {_cause(error)}"[:LONGEST_REASON]) for number in numbers]
        files = shard_files(shard, rows, stored=(), offsets=request.offsets, keep=request.keep)
        self.undone.on_done(len(rows), 0)
        return Made(shard=shard, files=files, examples=len(rows), failed=len(rows), timings=())


def _check_writers(writers: tuple[str, ...]) -> None:
    if writers != _writers():
        message = (
            f"An actor has {', '.join(writers)}, this process {', '.join(_writers())}, so its files would differ. "
            "Install the same versions on every node."
        )
        raise RunError(message)


def _cause(error: Exception) -> str:
    """Why something failed, in one line: the last one of what Ray says."""
    return (str(error).strip() or type(error).__name__).splitlines()[-1][:LONGEST_REASON]
