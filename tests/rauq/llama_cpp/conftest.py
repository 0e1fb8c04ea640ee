import pytest

from tests.gguf_files import MERGED, save_gguf


@pytest.fixture(scope="session")
def file_of(tmp_path_factory):
    """A tiny GGUF file of an architecture, in float32, which llama.cpp takes as well."""
    folder, made = tmp_path_factory.mktemp("llama"), {}

    def save(architecture, *, entries=MERGED, **changes):
        key = repr((architecture, entries, changes))
        if key not in made:
            made[key] = folder / f"{architecture}{len(made)}.gguf"
            save_gguf(made[key], architecture, entries=entries, **changes)
        return made[key]

    return save
