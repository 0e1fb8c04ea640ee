"""Errors when a model cannot be loaded: each kind of failure of the hub has its own message."""

import errno

import huggingface_hub
import pytest

from rauq.checkpoints.refusals.failures import hub_failure
from rauq.errors import ModelNotFound
from rauq.model.loading import load_model
from tests.local_hub import publish, published_gguf

REFUSALS = {
    "gated": (403, {"X-Error-Code": "GatedRepo"}, r"accepted its terms \(GatedRepoError\)\. .* hf auth login"),
    "token": (401, {}, r"the hub does not give this user access \(HTTP 401\)\. .* HF_TOKEN"),
    "disabled": (
        403,
        {"X-Error-Message": "Access to this resource is disabled."},
        r"has disabled it .* Choose another",
    ),
    "revision": (404, {"X-Error-Code": "RevisionNotFound"}, r"not in that revision \(RevisionNotFoundError\)"),
    "file": (404, {"X-Error-Code": "EntryNotFound"}, r"but not that file \(RemoteEntryNotFoundError\)"),
    "repository": (404, {"X-Error-Code": "RepoNotFound"}, r"no model of that name .* \(RepositoryNotFoundError\)"),
    "often": (429, {}, r"too many requests from this machine \(HTTP 429\)\. Try again in some minutes"),
    "broken": (503, {}, r"the hub reports an internal error \(HTTP 503\)\. Try again later"),
    "odd": (418, {}, r"the hub refuses the request \(HTTP 418\)\. .* HF_ENDPOINT"),
}


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tiny-F32.gguf"])
@pytest.mark.parametrize(("status", "headers", "says"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_of_the_hub_is_not_reported_as_a_missing_network(status, headers, says, file, hub):
    hub.faults[file] = status, headers
    publish(hub, "tiny/refused-why")
    name = f"tiny/refused-why{'/' + file if file.endswith('.gguf') else ''}"
    if (file, status, headers.get("X-Error-Code")) == ("model.safetensors", 404, "EntryNotFound"):
        says = r"there is no model\.safetensors or model\.safetensors\.index\.json"
    with pytest.raises(ModelNotFound, match=says) as caught:
        load_model(name)
    assert "no network" not in str(caught.value)
    assert len(str(caught.value)) < 330


def test_an_interrupted_download_is_reported(hub):
    name = published_gguf(hub, "cut")
    hub.broken.add("tiny-F32.gguf")
    with pytest.raises(
        ModelNotFound, match=rf"The header of {name} .* was interrupted, .* \(RemoteProtocolError\)\. Try again"
    ):
        load_model(name)


def test_a_full_disk_is_reported(hub, monkeypatch):
    def fill(*_arguments, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    name = published_gguf(hub, "large")
    monkeypatch.setattr("rauq.checkpoints.hub.hf_hub_download", fill)
    with pytest.raises(
        ModelNotFound, match=rf"The file of {name} .* the disk is full \(OSError\)\. Free disk space, .*HF_HOME"
    ):
        load_model(name)


def test_an_insecure_connection_is_reported(hub, monkeypatch):
    """The hub here speaks plain HTTP."""
    template = f"https://127.0.0.1:{hub.server_address[1]}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    with pytest.raises(ModelNotFound, match=r"no secure connection .* \(ConnectError\)\. .*SSL_CERT_FILE.*\"atlas\""):
        load_model("nobody/nothing")


def test_a_proxy_that_does_not_reach_the_hub_is_reported(hub, monkeypatch):
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{hub.server_address[1]}")
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{hub.server_address[1]}")
    template = "https://hub.invalid/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    huggingface_hub.close_session()
    with pytest.raises(ModelNotFound, match=r"the proxy does not reach the hub \(ProxyError\)\. .*HTTPS_PROXY"):
        load_model("nobody/nothing")
    huggingface_hub.close_session()


def raised_from(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError("Consistency check failed: file should be of size 3 but has size 2"), "was interrupted"),
        (huggingface_hub.errors.XetDownloadError("a block is missing"), "was interrupted"),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "the disk is full"),
        (huggingface_hub.errors.LocalTokenNotFoundError("none"), "does not give this user access"),
        (huggingface_hub.errors.FileMetadataError("no commit"), "the server that answered is not the hub"),
        (huggingface_hub.errors.LocalEntryNotFoundError("none"), "not in the hub's cache"),
        (raised_from(OSError("We couldn't connect"), TimeoutError("late")), "did not answer in time"),
        (raised_from(OSError("We couldn't connect"), ConnectionRefusedError("no")), "there is no network"),
        (raised_from(huggingface_hub.errors.LocalEntryNotFoundError("no"), ConnectionResetError()), "was interrupted"),
    ],
    ids=repr,
)
def test_the_message_names_the_cause_of_an_error(error, says):
    assert says in hub_failure(error).what


def test_an_error_of_another_kind_is_not_attributed_to_the_hub(monkeypatch):
    error = ValueError("odd")

    def fail(*_arguments, **_options):
        raise error

    assert hub_failure(error) is None
    monkeypatch.setattr("rauq.checkpoints.hub.ask_hub", fail)
    with pytest.raises(ModelNotFound, match=r"the request to the hub failed \(ValueError: odd\)\. A folder works"):
        load_model("nobody/nothing")
