"""A chat template is found wherever the files of a model keep it, in a folder or in a GGUF file."""

import json

import pytest

from rauq.model.loading import load_model
from tests.architectures import named, tiny_model
from tests.gguf_files import save_gguf
from tests.template_forms import CONTENT_FORMS, tokenizer_of

FORM = CONTENT_FORMS[0]  # of parts alone


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("model")
    tokenizer = tokenizer_of(FORM.source)
    tokenizer.chat_template = None
    tokenizer.save_pretrained(place)
    tiny_model(named("llama"), vocab_size=len(tokenizer)).save_pretrained(place)
    return place


RECORD = {"chat_template": FORM.source}
FILES = {
    "chat_template.jinja": FORM.source,
    "additional_chat_templates/tool_use.jinja": FORM.source,
    "chat_template.json": json.dumps(RECORD),
    "processor_config.json": json.dumps({"processor_class": "Some", **RECORD}),
    "several in a processor": json.dumps({"chat_template": [{"name": "default", "template": FORM.source}]}),
}


@pytest.mark.parametrize("name", FILES)
def test_a_folder_s_template_is_applied(folder, name):
    file = folder / (name if "." in name else "chat_template.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(FILES[name])
    lm = load_model(folder)
    file.unlink()
    assert (lm.kind, lm.tokens.text(lm.encode("Hi").ids)) == ("instruct", FORM.plain)


def test_a_folder_without_a_template_is_a_base_model_s(folder):
    (folder / "processor_config.json").write_text('["chat_template"]')
    assert load_model(folder).kind == "base"


@pytest.mark.parametrize("key", ["tokenizer.chat_template", "tokenizer.chat_template.tool_use"])
def test_a_gguf_file_s_template_is_applied(tmp_path, key):
    save_gguf(tmp_path / "tiny.gguf", entries={key: FORM.source})
    lm = load_model(tmp_path / "tiny.gguf")
    assert (lm.kind, lm.tokens.text(lm.encode("Hi").ids)) == ("instruct", FORM.plain)
