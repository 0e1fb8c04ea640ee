"""Tiny classifiers of pairs, saved as the hub has them, and their outputs by the definition of RoBERTa."""

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import DebertaConfig, DebertaForSequenceClassification, RobertaConfig

from tests.checkpoints import (
    BEGIN,
    END,
    HEADS,
    INNER,
    LAYERS,
    LONGEST,
    POSITIONS,
    WIDTH,
    arrays,
    dense,
    encoder_state,
    ids_of,
    layers_of,
    linear,
    pair_tokenizer,
)

MNLI = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")


def save_classifier(folder, labels=MNLI, *, without=(), **settings):
    """A RoBERTa whose weights the labels do not change; gives its state, without the tensors that are named."""
    rng = torch.Generator().manual_seed(1)
    state = encoder_state("roberta.", 0) | linear("classifier.dense", WIDTH, WIDTH, rng)
    state |= linear("classifier.out_proj", len(labels), WIDTH, rng)
    del state["roberta.embeddings.position_ids"]
    size = {"hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    frame = {"vocab_size": len(pair_tokenizer()), "max_position_embeddings": POSITIONS, "type_vocab_size": 1}
    frame |= {"pad_token_id": 0, "layer_norm_eps": 1e-5, "architectures": ["RobertaForSequenceClassification"]}
    config = RobertaConfig(**size, **frame, id2label=dict(enumerate(labels)), **settings)
    config.save_pretrained(folder)
    pair_tokenizer().save_pretrained(folder)
    save_file({name: tensor for name, tensor in state.items() if name not in without}, folder / "model.safetensors")
    return state


def put_out(state, first, second):
    """The outputs for one pair, both of which fit; of a longer one, its longer text has to be cut before."""
    ids = [BEGIN, *ids_of(first), END, END, *ids_of(second), END]
    assert len(ids) <= LONGEST
    plain = arrays({"state_dict": state})
    pooled = np.tanh(dense(plain, "classifier.dense", layers_of(plain, "roberta.", ids)[-1][0]))
    return dense(plain, "classifier.out_proj", pooled)


def save_deberta(folder):
    """The architecture of the paper's judge: its positions are relative, and it has no types of tokens."""
    torch.manual_seed(0)
    size = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    frame = {"vocab_size": len(pair_tokenizer()), "max_position_embeddings": POSITIONS, "type_vocab_size": 0}
    frame |= {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}
    config = DebertaConfig(**size, **frame, id2label=dict(enumerate(MNLI)), initializer_range=0.5)
    model = DebertaForSequenceClassification(config).eval()
    model.save_pretrained(folder)
    pair_tokenizer().save_pretrained(folder)
    return model
