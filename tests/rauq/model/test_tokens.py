"""Tokens as bytes, and text that grows by whole characters, for every way in which tokenizers spell."""

import numpy as np
import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rauq.errors import InvalidInput
from rauq.model.tokens import TextStream, Tokens
from tests.architectures import byte_tokenizer

TEXTS = {
    "plain": "Oslo is the capital.",
    "spaces": "  two  spaces \t and\nlines\r\n",
    "accents": "Ærøskøbing, Łódź, naïve",
    "emoji": "👩\u200d👩\u200d👧 🙂🇳🇴",
    "right to left": "שלם \u202eתדה\u202c مرحبا",
    "control": "a\x00b\x07c\x1b[31m",
    "looks like a token": "<0x41> ▁word Ġword ##word",
}


def sentencepiece_tokenizer():
    """Words start with U+2581, what is not in the vocabulary falls back to bytes."""
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    words = ["▁", "▁Oslo", "▁is", "▁the", "capital", ".", "e", "▁▁", "\n"]
    names = ["<unk>", "<s>", "</s>", *bytes_, *words]
    vocabulary = [(name, 0.0 if name in {"<unk>", "<s>", "</s>"} else -float(len(names))) for name in names]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def word_tokenizer(decoder=None):
    names = ["<unk>", "</s>", "Oslo", "is", "the", "capital", "."]
    tokenizer = Tokenizer(models.WordLevel({name: place for place, name in enumerate(names)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if decoder is not None:
        tokenizer.decoder = decoder
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>")


BYTES = Tokens(byte_tokenizer())
PIECES = Tokens(sentencepiece_tokenizer())
WORDS = Tokens(word_tokenizer())


def id_of(tokens, name):
    return tokens.tokenizer.convert_tokens_to_ids(name)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("tokens", [BYTES, PIECES], ids=["byte level", "sentencepiece"])
def test_an_answer_comes_back_as_it_was_given(tokens, text):
    if tokens is PIECES:
        text = text.replace("▁", "_").replace("<0x41>", "")  # its own spellings are not text to sentencepiece
    ids = tokens.encode_answer(text)
    assert tokens.text(ids) == text
    assert b"".join(map(tokens.piece, ids)) == text.encode()
    assert "".join(tokens.texts(ids)) == text
    assert len(tokens.texts(ids)) == len(ids)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_text_is_what_the_tokenizer_itself_decodes(text):
    for tokens in (BYTES, PIECES):
        ids = tokens.encode(text, special=False)
        theirs = tokens.tokenizer.decode(ids, clean_up_tokenization_spaces=False)
        # sentencepiece takes off the space that it put in front of a text
        assert tokens.text(ids).lstrip(" ") == theirs.lstrip(" ")


def test_a_byte_fragment_waits_for_the_rest_of_its_character():
    ids = BYTES.encode("é🙂!", special=False)
    assert BYTES.texts(ids) == ("", "é", "", "", "", "🙂", "!")
    assert [BYTES.piece(token) for token in ids] == [bytes([byte]) for byte in "é🙂!".encode()]


def test_a_fragment_that_never_completes_becomes_a_replacement_character():
    ids = BYTES.encode("a🙂", special=False)
    assert BYTES.texts(ids[:-1]) == ("a", "", "", "\ufffd")
    broken = [ids[1], ids[0]]
    assert BYTES.texts(broken) == ("", "\ufffda")
    assert BYTES.texts([]) == ()


def test_every_byte_has_its_token():
    names = [BYTES.piece(token) for token in range(4, 260)]
    assert sorted(names) == [bytes([byte]) for byte in range(256)]


def test_sentencepiece_bytes_and_spaces():
    assert PIECES.piece(id_of(PIECES, "<0xF0>")) == b"\xf0"
    assert PIECES.piece(id_of(PIECES, "▁Oslo")) == b" Oslo"
    assert PIECES.piece(id_of(PIECES, "▁▁")) == b"  "


def test_an_answer_goes_on_without_a_space_of_its_own():
    assert PIECES.text(PIECES.encode("capital", special=False)) == " capital"
    assert PIECES.encode_answer("capital") == [id_of(PIECES, "capital")]
    assert PIECES.encode_answer(" Oslo") == [id_of(PIECES, "▁Oslo")]


def test_words_are_joined_by_spaces_as_the_tokenizer_joins_them():
    ids = WORDS.encode("Oslo is the capital .", special=False)
    assert WORDS.text(ids) == " " + WORDS.tokenizer.decode(ids, clean_up_tokenization_spaces=False)
    assert WORDS.texts(ids) == (" Oslo", " is", " the", " capital", " .")
    assert WORDS.encode_answer(WORDS.text(ids)) == ids
    fused = Tokens(word_tokenizer(decoders.Fuse()))
    assert fused.text(ids) == fused.tokenizer.decode(ids) == "Osloisthecapital."


def test_special_tokens_are_named_and_the_silent_ones_add_no_text():
    for tokens in (BYTES, PIECES, WORDS):
        end = tokens.tokenizer.eos_token_id
        assert tokens.piece(end) == b"</s>"
        assert tokens.text([end]) == "</s>"
        assert tokens.texts([end], silent={end}) == ("",)


def test_added_tokens_are_spelled_as_they_read():
    tokenizer = sentencepiece_tokenizer()
    tokenizer.add_tokens([AddedToken("▁▁▁", special=False), AddedToken("<|▁begin▁|>", special=True)])
    tokens = Tokens(tokenizer)
    assert tokens.piece(id_of(tokens, "▁▁▁")) == b"   "
    assert tokens.piece(id_of(tokens, "<|▁begin▁|>")) == "<|▁begin▁|>".encode()
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens([AddedToken("  é", special=False)])
    tokens = Tokens(tokenizer)
    assert tokens.piece(id_of(tokens, "  é")) == "  é".encode()


def test_an_id_without_a_token_is_shown_by_number():
    for tokens in (BYTES, PIECES, WORDS):
        assert tokens.piece(100_000) == b"<100000>"


def test_streamed_text_is_the_text():
    ids = [*BYTES.encode("é🙂", special=False), BYTES.tokenizer.eos_token_id, *BYTES.encode("🙂", special=False)[:3]]
    silent = {BYTES.tokenizer.eos_token_id}
    stream = TextStream(BYTES, silent)
    streamed = [stream(token, last=place == len(ids) - 1) for place, token in enumerate(ids)]
    assert tuple(streamed) == BYTES.texts(ids, silent=silent)
    assert "".join(streamed) == "é🙂\ufffd"


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "🙂\udc80"])
def test_a_lone_surrogate_is_refused_with_its_place(text):
    place = next(place for place, character in enumerate(text) if 0xD800 <= ord(character) <= 0xDFFF)
    for encode in (BYTES.encode_answer, lambda text: BYTES.encode(text, special=True)):
        with pytest.raises(InvalidInput, match=rf"not valid Unicode at character {place} .*Remove"):
            encode(text)


def test_random_ids_always_join_to_the_decoded_bytes():
    rng = np.random.default_rng(0)
    for tokens in (BYTES, PIECES):
        for _ in range(200):
            ids = rng.integers(0, len(tokens.tokenizer), size=rng.integers(1, 20)).tolist()
            whole = b"".join(map(tokens.piece, ids)).decode("utf-8", "replace")
            assert "".join(tokens.texts(ids)) == whole
