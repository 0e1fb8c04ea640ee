"""Servers of smollm2 by vLLM with the plugin, and what their clients do."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import httpx
import openai

from benchmarks.support.recording import tell
from benchmarks.support.server import ROOT, free_port, until_healthy
from rauq.errors import InvalidInput
from rauq.model.vllm import REQUEST

ENVIRONMENT = ROOT / ".venv-vllm"
MODEL = "smollm2"
CONNECTOR = (
    '{"kv_connector": "RauqConnector", "kv_connector_module_path": "rauq_vllm.connector", "kv_role": "kv_both", '
    '"kv_connector_extra_config": {"layers": "middle", "offsets": 1}}'
)
_OWN, _ASKED = ("logprobs", "top_logprobs"), "kv_transfer_params"  # the client knows the first two


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[openai.OpenAI]:
    """A client of a server of the model in a folder, with the plugin; see `started`."""
    with started(folder, *options) as (client, _):
        yield client


@contextmanager
def started(folder: Path, *options: str, plugin: bool = True) -> Iterator[tuple[openai.OpenAI, int]]:
    """A client of a server of the model in a folder, in float32, and its process, which ends with the context.

    Without `plugin`, vLLM loads none, and has no connector.

    Raises:
        InvalidInput: vLLM is not installed in its environment, or the server did not start.
    """
    if not (ENVIRONMENT / "bin" / "python").exists():
        message = f"vLLM has an environment of its own, {ENVIRONMENT.name}. Run make vllm, which makes it."
        raise InvalidInput(message)
    port = free_port()
    asked = [
        *(str(ENVIRONMENT / "bin" / "python"), "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)),
        *("--served-model-name", MODEL, "--dtype", "float32", "--max-model-len", "2048", "--max-num-seqs", "16"),
        *("--host", "127.0.0.1", "--port", str(port), "--enforce-eager"),
        *(("--kv-transfer-config", CONNECTOR) if plugin else ()),
        *options,
    ]
    quiet = {"VLLM_LOGGING_LEVEL": "WARNING", "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "2"}
    quiet |= {} if plugin else {"VLLM_PLUGINS": ""}
    tell(f"starting vLLM {' '.join((*options, *(() if plugin else ('without the plugin',))))}".rstrip())
    with tempfile.TemporaryFile() as log:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | quiet
        with subprocess.Popen(asked, stdout=log, stderr=log, env=environment, start_new_session=True) as running:
            try:
                _until_started(running, port, log)
                with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0) as client:
                    yield client, running.pid
            finally:
                running.terminate()
                with suppress(subprocess.TimeoutExpired):
                    running.wait(30)
                running.kill()


def answered(
    client: openai.OpenAI,
    prompts: Sequence[str],
    *,
    clients: int,
    tokens: int,
    attention: bool = True,
    stream: bool = False,
    whole: bool = False,
) -> list[Any]:
    """The greedy answers to prompts, of so many clients at a time; `whole` ones go on to the last of the tokens.

    Each is the client's object, or the list of chunks of a `stream`.
    """
    known: dict[str, Any] = {name: REQUEST[name] for name in _OWN}
    left = (*_OWN, *(() if attention else (_ASKED,)))
    extra = {name: value for name, value in REQUEST.items() if name not in left} | {"ignore_eos": whole}

    def ask(prompt: str) -> Any:
        said = [{"role": "user", "content": prompt}]
        how: dict[str, Any] = {"messages": said, "temperature": 0, "max_tokens": tokens, "stream": stream, **known}
        found = client.chat.completions.create(model=MODEL, extra_body=extra, **how)
        return list(found) if stream else found

    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(ask, prompts))


def metric(client: openai.OpenAI, name: str) -> float:
    """The sum of a metric of the server."""
    text = httpx.get(str(client.base_url).removesuffix("v1/") + "metrics").text
    return sum(float(value) for value in re.findall(rf"^vllm:{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE))


def _until_started(running: subprocess.Popen[bytes], port: int, log: IO[bytes]) -> None:
    try:
        until_healthy(f"http://127.0.0.1:{port}/health", running)
    except RuntimeError as error:
        log.seek(0)
        last = log.read().decode(errors="replace").splitlines()[-5:]
        message = f"vLLM did not start. Its last lines: {' | '.join(last)}"
        raise InvalidInput(message) from error
