"""What all tests share: a store of weights, a chat model, their order, and the settings of the garbage collector."""

import gc

import pytest

from rauq.checkpoints.store import PLACE_VARIABLE
from tests.real_models import SMOLLM2

SLOW = {"browser", "robustness", "training"}


@pytest.fixture(scope="session", autouse=True)
def own_store(tmp_path_factory):
    """Weights of GGUF files are kept here, not where the user's are; once for all tests of a worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PLACE_VARIABLE, str(tmp_path_factory.mktemp("store")))
        yield


@pytest.fixture(scope="session")
def store_with_smollm2(tmp_path_factory):
    """A store in which the user's smollm2 is on this machine."""
    store = tmp_path_factory.mktemp("store")
    (store / "models").symlink_to(SMOLLM2.parents[1], target_is_directory=True)
    return store


@pytest.fixture(scope="session")
def chat_folder(tmp_path_factory):
    """A tiny chat model, as `save_pretrained` writes it."""
    from tests.chat_templates import CHATML, chat_model

    folder = tmp_path_factory.mktemp("models") / "tiny-instruct"
    model, tokenizer = chat_model(CHATML)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def pytest_collection_modifyitems(config, items):
    """Files that take long go first: the short ones then keep every worker busy to the end."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.relative_to(config.rootpath).parts))


def pytest_collection_finish():
    """Imported modules stay to the end: scanning them at each collection took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
