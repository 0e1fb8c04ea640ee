"""A model before its weights are read."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from transformers import PreTrainedModel

from rauq.checkpoints.gguf.facts import GgufFacts
from rauq.checkpoints.gguf.hub import HubFile
from rauq.checkpoints.gguf.weights import Plan
from rauq.whereabouts import cached_commit, is_folder


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """A model whose weights were not read yet; `skeleton` has their shapes alone, and `where` says how to get them.

    `plan` and `facts` are there for a GGUF file, `remote` for one that is still on the hub and of which only the header
    was read. `read_tokenizer` is called once the tokenizer is needed. `digest` is the sha256 of the GGUF file that the
    weights were dequantised from.
    """

    source: str
    where: dict[str, Any]
    config: Any
    skeleton: PreTrainedModel
    chat_template: str | None
    read_tokenizer: Callable[[], Any]
    plan: Plan | None = None
    facts: GgufFacts | None = None
    remote: HubFile | None = None
    digest: str = ""

    @cached_property
    def tokenizer(self) -> Any:  # noqa: ANN401 - tokenizers have no common type
        """The model's tokenizer, read once."""
        return self.read_tokenizer()

    @property
    def parameters(self) -> int:
        """How many there are; what two parts of the model share counts once."""
        return sum(weights.numel() for weights in self.skeleton.parameters())

    @property
    def commit(self) -> str:
        """The commit of a hub model, the sha256 of a GGUF file, "local" for a folder."""
        if self.digest:
            return self.digest
        if is_folder(self.source):
            return "local"
        revision: str | None = self.where["revision"]
        return cached_commit(self.source, revision) or revision or "main"
