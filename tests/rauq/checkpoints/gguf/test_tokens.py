import pytest

from rauq.checkpoints.gguf.header import read_header
from rauq.checkpoints.gguf.tokenizer import end_ids
from rauq.errors import ModelNotFound, UnsupportedModel
from tests.gguf_files import BYTE_TOKENIZER, BYTE_TOKENS, tokenizer_of, write_gguf


@pytest.mark.parametrize("stated", [True, False])
def test_begin_and_end_tokens_are_added_where_the_file_says_so(tmp_path, stated):
    flags = {"tokenizer.ggml.add_bos_token": stated, "tokenizer.ggml.add_eos_token": stated}
    read = tokenizer_of(tmp_path / "m.gguf", BYTE_TOKENIZER | flags)
    assert read("ab")["input_ids"][1 if stated else 0 :][:2] == [BYTE_TOKENS.index("a"), BYTE_TOKENS.index("b")]
    assert (read("ab")["input_ids"][0] == 1, read("ab")["input_ids"][-1] == 2) == (stated, stated)


ENDS = {
    "end of text alone": ({}, (2,)),
    "of turn and message": ({"tokenizer.ggml.eot_token_id": 5, "tokenizer.ggml.eom_token_id": 4}, (2, 5, 4)),
    "a list of them": ({"tokenizer.ggml.eos_token_ids": [2, 7, 5]}, (2, 7, 5)),
    "the same twice": ({"tokenizer.ggml.eot_token_id": 2}, (2,)),
    "written by the template": ({"tokenizer.chat_template": "{{ x }}<|eot_id|>"}, (2, 6)),
    "named by the file": ({"tokenizer.chat_template": "<|eot_id|>", "tokenizer.ggml.eot_token_id": 5}, (2, 5)),
}


@pytest.mark.parametrize("case", ENDS)
def test_every_token_that_ends_an_answer_is_known(tmp_path, case):
    entries, expected = ENDS[case]
    tokens = [*BYTE_TOKENS, "<|im_end|>"]
    tokens[6] = "<|eot_id|>"
    entries = {**BYTE_TOKENIZER, "tokenizer.ggml.tokens": tokens, **entries}
    write_gguf(tmp_path / "m.gguf", "llama", entries, {})
    assert end_ids(read_header(tmp_path / "m.gguf")) == expected


REFUSED = {
    "an unknown split": {"tokenizer.ggml.pre": "unheard-of"},
    "the default split": {"tokenizer.ggml.pre": "default"},
    "another kind": {"tokenizer.ggml.model": "bert"},
    "suppressed tokens": {"tokenizer.ggml.suppress_tokens": [1]},
    "a separator": {"tokenizer.ggml.add_sep_token": True},
    "a table of characters": {"tokenizer.ggml.precompiled_charsmap": [1, 2]},
    "a space in front of bytes": {"tokenizer.ggml.add_space_prefix": True},
    "fewer spaces": {"tokenizer.ggml.remove_extra_whitespaces": True},
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_unsupported_entry_is_named(tmp_path, case):
    with pytest.raises(UnsupportedModel) as refused:
        tokenizer_of(tmp_path / "m.gguf", BYTE_TOKENIZER | REFUSED[case])
    assert all(key in str(refused.value) for key in REFUSED[case])


def test_a_begin_token_that_is_added_has_to_be_there(tmp_path):
    entries = {key: value for key, value in BYTE_TOKENIZER.items() if "bos_token_id" not in key}
    assert tokenizer_of(tmp_path / "none.gguf", entries)("a")["input_ids"] == [BYTE_TOKENS.index("a")]
    with pytest.raises(ModelNotFound, match="bos_token_id is missing"):
        tokenizer_of(tmp_path / "m.gguf", entries | {"tokenizer.ggml.add_bos_token": True})


def test_a_missing_split_is_refused(tmp_path):
    entries = {key: value for key, value in BYTE_TOKENIZER.items() if key != "tokenizer.ggml.pre"}
    with pytest.raises(UnsupportedModel, match=r"'tokenizer\.ggml\.pre' is missing"):
        tokenizer_of(tmp_path / "m.gguf", entries)


DAMAGED = {
    "no tokens": {"tokenizer.ggml.tokens": ["a"], "tokenizer.ggml.token_type": [1]},
    "a token twice": {"tokenizer.ggml.tokens": [*BYTE_TOKENS[:-1], "a"]},
    "a token without end": {"tokenizer.ggml.tokens": [*BYTE_TOKENS[:-1], "a" * 1025]},
    "fewer types than tokens": {"tokenizer.ggml.token_type": [1]},
    "an end that is no token": {"tokenizer.ggml.eos_token_id": 260},
    "a listed end that is no token": {"tokenizer.ggml.eos_token_ids": [1, 260]},
    "a merge of one": {"tokenizer.ggml.merges": ["a"]},
    "a merge to no token": {"tokenizer.ggml.merges": ["a b"]},
    "a merge of no token": {"tokenizer.ggml.merges": ["ab c"]},
    "no scores": {"tokenizer.ggml.model": "llama"},
    "too few scores": {"tokenizer.ggml.model": "llama", "tokenizer.ggml.scores": [1.0]},
    "a template that is a number": {"tokenizer.chat_template": 1},
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_tokenizer_that_contradicts_itself_is_damaged(tmp_path, case):
    with pytest.raises(ModelNotFound, match="not a usable GGUF file"):
        tokenizer_of(tmp_path / "m.gguf", BYTE_TOKENIZER | DAMAGED[case])
