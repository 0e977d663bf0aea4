"""What a source of weights hands to the layouts: a llama model as numpy arrays, and its vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray


class SourceError(Exception):
    """A source cannot be used; the text is one line for the user."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a llama model. `head_size` is also the width RoPE turns: partial rotation is not supported."""

    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    layers: int
    vocabulary: int
    rope_base: float


@dataclass(frozen=True)
class Layer:
    """One decoder layer. Matrices are [out, in], as checkpoints store them; q and k are in half-rotation order."""

    attention_norm: Array
    q: Array
    k: Array
    v: Array
    o: Array
    mlp_norm: Array
    gate: Array
    up: Array
    down: Array


@dataclass(frozen=True)
class Weights:
    shape: Shape
    embedding: Array
    layers: list[Layer]
    final_norm: Array
    head: Array
    head_bias: Array | None = None  # llama has none; the tiny model steers its text with one


@dataclass(frozen=True)
class Vocabulary:
    """A byte-level BPE vocabulary. `pad` must never occur in a prompt: genai tells the padding by it."""

    tokens: list[str]
    special: list[int]
    merges: list[str]
    bos: int
    eos: int
    pad: int
    chat_template: str
    split_digits: bool
    model_max_length: int


@dataclass(frozen=True)
class Source:
    weights: Weights
    vocabulary: Vocabulary
    cache: int  # slots of the key-value cache when the user names none
    prefill: int  # tokens of a prompt window when the user names none
