import json
import re
from itertools import pairwise

import numpy as np
import pytest
import regex
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer

from rauq.checkpoints.gguf.config import read_config
from rauq.checkpoints.gguf.header import read_header
from rauq.checkpoints.gguf.tokenizer import SPLITTINGS, end_ids, read_tokenizer
from tests.gguf_files import save_gguf, tokenizer_of
from tests.real_models import SMOLLM2
from tests.token_texts import COUNT, token_texts

TEXTS = token_texts()
SPACE = "\u2581"

# As published: in the tokenizer.json of SmolLM2, Llama 3, Qwen2.5 and Mistral-Nemo, and in tiktoken's o200k_base.
GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
OWN_REGEX = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>", "<|eot_id|>"]


def split_by(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), BYTE_LEVEL])


# The name in the file; the original's pre-tokenizer, normalizer, and whether it takes whole words and begins a text.
STYLES = {
    "smollm": (pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), OWN_REGEX]), None, False, False),
    "gpt-2": (OWN_REGEX, None, False, False),
    "llama-bpe": (split_by(LLAMA3), None, True, True),
    "qwen2": (split_by(QWEN2), normalizers.NFC(), False, False),
    "tekken": (split_by(TEKKEN), None, True, True),
    "gpt-4o": (split_by(O200K), None, False, False),
}


def test_there_are_200_texts():
    assert len(TEXTS) == COUNT


def original(style):
    """A tokenizer as transformers has it, trained on the texts; its vocabulary holds words that no merges make."""
    split, normalizer, whole_words, begins = STYLES[style]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = split, decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1200, special_tokens=SPECIAL, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(TEXTS, trainer)
    state = json.loads(tokenizer.to_str())
    state["model"]["vocab"]["Ġworld"] = state["model"]["vocab"].get("Ġworld", len(state["model"]["vocab"]))
    state["model"]["merges"] = [pair for pair in state["model"]["merges"] if "".join(pair) != "Ġworld"]
    state["model"]["ignore_merges"] = whole_words
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL])
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 3)])
    return tokenizer


def entries_of(tokenizer, style):
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": style,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in SPECIAL else 1 for token in tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in model["merges"]],
        "tokenizer.ggml.bos_token_id": 3,
        "tokenizer.ggml.eos_token_id": 4,
    }


@pytest.mark.parametrize("style", STYLES)
def test_ids_equal_those_of_the_same_tokenizer_in_transformers_format(tmp_path, style):
    expected = original(style)
    read = tokenizer_of(tmp_path / "m.gguf", entries_of(expected, style))
    for text in TEXTS:
        assert read(text)["input_ids"] == expected.encode(text).ids, repr(text)
        assert read(text, add_special_tokens=False)["input_ids"] == expected.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("style", STYLES)
def test_the_texts_tell_every_style_from_every_other(tmp_path, style):
    expected = original(style)
    for other in STYLES.keys() - {style}:
        read = tokenizer_of(tmp_path / f"{other}.gguf", entries_of(expected, style) | {"tokenizer.ggml.pre": other})
        ids = [read(text, add_special_tokens=False)["input_ids"] for text in TEXTS]
        assert ids != [expected.encode(text, add_special_tokens=False).ids for text in TEXTS], other


def test_names_that_mean_the_same_are_the_same():
    same = [("llama-bpe", "llama3"), ("llama-bpe", "llama-v3"), ("qwen2", "deepseek-r1-qwen"), ("smollm", "starcoder")]
    assert all(SPLITTINGS[first] == SPLITTINGS[second] for first, second in same)


def bytes_as_letters():
    """The letters that GPT-2 writes bytes with, from its published encoder."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def merged(word, ranks):
    """Bytes merged by the best rank, the leftmost first, until no pair has one."""
    parts = list(word)
    while len(parts) > 1:
        rank, place = min((ranks.get(pair, np.inf), place) for place, pair in enumerate(pairwise(parts)))
        if rank == np.inf:
            break
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts


def test_smollm2_s_ids_follow_from_the_definition_of_its_tokenizer():
    header = read_header(SMOLLM2)
    tokens, read = header.texts("tokenizer.ggml.tokens"), read_tokenizer(header)
    ids, letters = {token: place for place, token in enumerate(tokens)}, bytes_as_letters()
    ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(header.texts("tokenizer.ggml.merges"))}
    special = tokens[:17]
    either = re.compile("(" + "|".join(map(re.escape, special)) + ")")
    for text in TEXTS:
        expected = []
        for fragment in either.split(text):
            if fragment in special:
                expected.append(ids[fragment])
                continue
            for part in regex.split(r"(\p{N})", fragment):  # every digit alone, then GPT-2's own words
                for word in regex.findall(GPT2, part):
                    written = "".join(letters[byte] for byte in word.encode())
                    expected += [ids[piece] for piece in merged(written, ranks)]
        assert read(text)["input_ids"] == expected, repr(text)
        assert read.decode(expected) == text


def test_smollm2_splits_digits_after_two_spaces():
    # transformers' reader takes GPT-2's split for it, and gives [19556, 216, 216, 33, ...]
    read = read_tokenizer(read_header(SMOLLM2))
    assert read("Hello  12")["input_ids"] == [19556, 256, 33, 34]


def test_smollm2_s_special_tokens_and_template_come_from_the_file():
    header = read_header(SMOLLM2)
    read = read_tokenizer(header)
    assert (read.bos_token, read.eos_token, read.pad_token) == ("<|im_start|>", "<|im_end|>", "<|im_end|>")
    assert (read.unk_token, end_ids(header)) == ("<|endoftext|>", (2,))
    chat = read.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True)
    assert chat.endswith("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")


def sentencepiece_entries(user=("<tool>",), **changes):
    """A vocabulary of sentencepiece: scores fall in the order in which it was learned; `user` names user's tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    trainer = trainers.BpeTrainer(vocab_size=900)
    tokenizer.train_from_iterator([text for text in TEXTS if "<" not in text and "  " not in text], trainer)
    learned = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    first = ["<unk>", "<s>", "</s>", *user, *(f"<0x{byte:02X}>" for byte in range(256))]
    learned = [token for token in learned if token not in first]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": [*first, *learned],
        "tokenizer.ggml.scores": [-1000.0] * len(first) + [-float(place) for place in range(len(learned))],
        "tokenizer.ggml.token_type": [3] * 3 + [4] * len(user) + [6] * 256 + [1] * len(learned),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        **changes,
    }


def best_pair(parts, ids, scores):
    """Where the pair of the best score is, the leftmost of them; None where no pair makes a token."""
    pairs = [(ids.get(first + second), place) for place, (first, second) in enumerate(pairwise(parts))]
    return min(((-scores[token], place) for token, place in pairs if token is not None), default=(0, None))[1]


def sentencepiece_ids(text, entries, *, prefix):
    """By definition: control and user's tokens first, the longest before others, then pairs by their score."""
    tokens, scores = entries["tokenizer.ggml.tokens"], entries["tokenizer.ggml.scores"]
    ids = {token: place for place, token in enumerate(tokens)}
    whole = [token for token, kind in zip(tokens, entries["tokenizer.ggml.token_type"], strict=True) if kind in {3, 4}]
    found = []
    for fragment in re.split("(" + "|".join(map(re.escape, sorted(whole, key=len, reverse=True))) + ")", text):
        if fragment in whole:
            found.append(ids[fragment])
        elif fragment:
            parts = list(((" " if prefix else "") + fragment).replace(" ", SPACE))
            while (place := best_pair(parts, ids, scores)) is not None:
                parts[place : place + 2] = [parts[place] + parts[place + 1]]
            for part in parts:
                found += [ids[part]] if part in ids else [ids[f"<0x{byte:02X}>"] for byte in part.encode()]
    return found


@pytest.mark.parametrize("prefix", [True, False])
def test_sentencepiece_s_ids_follow_from_its_definition(tmp_path, prefix):
    entries = sentencepiece_entries(**{"tokenizer.ggml.add_space_prefix": prefix})
    read = tokenizer_of(tmp_path / "m.gguf", entries)
    for text in TEXTS:
        expected = sentencepiece_ids(text, entries, prefix=prefix)
        assert read(text)["input_ids"] == [1, *expected], repr(text)  # llama's begin where the file does not say
        assert read(text, add_special_tokens=False)["input_ids"] == expected


def test_gemma_s_runs_of_spaces_and_lines_are_tokens(tmp_path):
    runs = [sign * length for sign in ("\n", " ") for length in range(2, 32)]
    entries = sentencepiece_entries(runs, **{"tokenizer.ggml.add_space_prefix": False})
    read = tokenizer_of(tmp_path / "m.gguf", entries, "gemma3")
    for text in TEXTS:
        if SPACE in text:  # it joins the spaces around it to one run: the definition above knows runs of spaces alone
            continue
        expected = sentencepiece_ids(text, entries, prefix=False)
        assert read(text, add_special_tokens=False)["input_ids"] == expected, repr(text)
        assert read.decode(expected) == text
    assert read.convert_ids_to_tokens(read("a   b")["input_ids"])[2:-1] == [SPACE * 3]


@pytest.mark.parametrize("name", ["llama", "qwen3", "gemma3"])
def test_a_saved_tokenizer_comes_back_the_same(tmp_path, name):
    save_gguf(tmp_path / "model.gguf", name)
    read_config(read_header(tmp_path / "model.gguf")).save_pretrained(tmp_path / "saved")
    style = {"llama": "llama-bpe", "qwen3": "qwen2", "gemma3": None}[name]
    entries = sentencepiece_entries() if style is None else entries_of(original(style), style)
    read = tokenizer_of(tmp_path / "m.gguf", {**entries, "tokenizer.chat_template": "{{ messages }}"}, name)
    read.save_pretrained(tmp_path / "saved")
    again = AutoTokenizer.from_pretrained(tmp_path / "saved", local_files_only=True)
    assert [again(text)["input_ids"] for text in TEXTS] == [read(text)["input_ids"] for text in TEXTS]
    assert (again.chat_template, again.eos_token, again.bos_token) == ("{{ messages }}", read.eos_token, read.bos_token)
