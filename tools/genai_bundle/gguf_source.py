"""A llama model from a GGUF file, dequantized to float: real weights and a real vocabulary without a model hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .weights import Array, Layer, Shape, Source, SourceError, Vocabulary, Weights

SPECIAL_TOKEN = 3  # GGUF's token type "control"
# How text is cut before BPE, by GGUF's name of it. Another name would need other rules; a wrong cut shows nowhere but
# in worse text, so it is refused.
SPLITS_DIGITS = {"smollm": True, "gpt-2": False}


def load(path: Path) -> Source:
    """The model in `path`; SourceError when it cannot be one of ours."""
    from gguf import GGUFReader  # only --gguf needs it

    if not path.is_file():
        raise SourceError(f"{path}: no such file")
    try:
        reader = GGUFReader(path)
    except (ValueError, IndexError, KeyError, OSError) as error:
        raise SourceError(f"{path}: not a GGUF file ({error})".replace("\n", " ")) from error
    return _File(path, reader).source()


class _File:
    """Named access to a GGUF file; whatever is missing is one SourceError that names it."""

    def __init__(self, path: Path, reader: Any) -> None:
        self._path = path
        self._fields = reader.fields
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}

    def source(self) -> Source:
        architecture = self._field("general.architecture")
        if architecture != "llama":
            raise SourceError(f"{self._path}: the architecture is {architecture}, only llama can be read")
        vocabulary = self._vocabulary()
        shape = self._shape(len(vocabulary.tokens))
        embedding = self._tensor("token_embd.weight")
        # A file without a head ties it to the embedding.
        head = self._tensor("output.weight") if "output.weight" in self._tensors else embedding
        layers = [self._layer(index, shape) for index in range(shape.layers)]
        weights = Weights(shape, embedding, layers, self._tensor("output_norm.weight"), head)
        return Source(weights, vocabulary, cache=512, prefill=64)

    def _field(self, key: str) -> Any:
        if key not in self._fields:
            raise SourceError(f"{self._path}: has no {key}")
        return self._fields[key].contents()

    def _tensor(self, name: str) -> Array:
        from gguf.quants import dequantize

        if name not in self._tensors:
            raise SourceError(f"{self._path}: has no tensor {name}")
        tensor = self._tensors[name]
        return dequantize(tensor.data, tensor.tensor_type).astype(np.float32)

    def _shape(self, vocabulary: int) -> Shape:
        heads, hidden = self._field("llama.attention.head_count"), self._field("llama.embedding_length")
        head_size = self._field("llama.rope.dimension_count")
        if head_size * heads != hidden:
            raise SourceError(f"{self._path}: RoPE over a part of a head is not supported")
        return Shape(
            hidden=hidden,
            heads=heads,
            kv_heads=self._field("llama.attention.head_count_kv"),
            head_size=head_size,
            layers=self._field("llama.block_count"),
            vocabulary=vocabulary,
            rope_base=self._field("llama.rope.freq_base"),
        )

    def _layer(self, index: int, shape: Shape) -> Layer:
        def tensor(name: str) -> Array:
            return self._tensor(f"blk.{index}.{name}.weight")

        return Layer(
            attention_norm=tensor("attn_norm"),
            q=_half_rotation(tensor("attn_q"), shape.heads),
            k=_half_rotation(tensor("attn_k"), shape.kv_heads),
            v=tensor("attn_v"),
            o=tensor("attn_output"),
            mlp_norm=tensor("ffn_norm"),
            gate=tensor("ffn_gate"),
            up=tensor("ffn_up"),
            down=tensor("ffn_down"),
        )

    def _vocabulary(self) -> Vocabulary:
        model, split = self._field("tokenizer.ggml.model"), self._field("tokenizer.ggml.pre")
        if model != "gpt2" or split not in SPLITS_DIGITS:
            raise SourceError(f"{self._path}: its tokenizer ({model}, {split}) is not supported")
        types = self._field("tokenizer.ggml.token_type")
        special = [token for token, kind in enumerate(types) if kind == SPECIAL_TOKEN]
        bos, eos = self._field("tokenizer.ggml.bos_token_id"), self._field("tokenizer.ggml.eos_token_id")
        # Not the file's own padding token, which often is EOS and then stands in chat prompts.
        pad = next((token for token in special if token not in (bos, eos)), None)
        if pad is None:
            raise SourceError(f"{self._path}: has no special token that could pad")
        return Vocabulary(
            tokens=self._field("tokenizer.ggml.tokens"),
            special=special,
            merges=self._field("tokenizer.ggml.merges"),
            bos=bos,
            eos=eos,
            pad=pad,
            chat_template=self._field("tokenizer.chat_template"),
            split_digits=SPLITS_DIGITS[split],
            model_max_length=self._field("llama.context_length"),
        )


def _half_rotation(matrix: Array, heads: int) -> Array:
    """GGUF keeps the two numbers that RoPE turns together side by side; our graphs, and GroupQueryAttention, want the
    first of all pairs and then the second of all."""
    rows, columns = matrix.shape
    pairs = matrix.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.transpose(0, 2, 1, 3).reshape(rows, columns)
