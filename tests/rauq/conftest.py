"""Tiny models in folders, and on a small hub on this machine."""

import socket
from collections import Counter

import pytest
import torch
import transformers.utils.hub
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.local_hub import Hub, serving, use_address, use_cache
from tests.retries import refuse_retries

TEXT = ["Where is Oslo? In Norway.", "Where is Lima? In Peru.", "0 1 2 3 4 5 6 7 8 9"]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    """A Llama of random weights with a byte-level tokenizer, as `save_pretrained` writes it."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, special_tokens=["<s>", "</s>"])
    tokenizer.train_from_iterator(TEXT, trainer)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=0,
        eos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    use_cache(monkeypatch, tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(Hub, tmp_path_factory.mktemp("hub")) as server:  # one for all tests: clients remember where it is
        server.gives_parts = True
        yield server


@pytest.fixture
def point_to(hub_cache, monkeypatch):
    del hub_cache  # nothing is left of other tests
    refuse_retries(monkeypatch)

    def point(address):
        use_address(monkeypatch, address)
        monkeypatch.setattr(transformers.utils.hub, "_hf_api", None)  # made once, of the endpoint at that time

    return point


@pytest.fixture
def hub(server, point_to):
    point_to(server.server_address)
    server.sent, server.faults, server.broken = Counter(), {}, set()
    return server


@pytest.fixture
def no_hub(point_to):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        point_to(closed.getsockname())
        yield
