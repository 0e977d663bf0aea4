"""The parts of a llama model as ONNX nodes, in the forms that every EP compiles and computes alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from .graph import MICROSOFT, Graph
from .weights import Array, Layer, Shape, Weights

HIDDEN_FROM_ATTENTION = np.float32(-10000)  # softmax makes 0 of it, and fp16 can still say it


def int32(*values: int) -> Array:
    return np.array(values, np.int32)


def int64(*values: int) -> Array:
    return np.array(values, np.int64)


def linear(graph: Graph, x: str, name: str, matrix: Array) -> str:
    return graph.node("MatMul", x, graph.weight(name, matrix.T))


def rms_norm(graph: Graph, x: str, name: str, weight: Array) -> str:
    """RMSNorm as LpNormalization: dividing by the length is RMSNorm but for sqrt(size), which goes into the weight. It
    is one node, where the spelled-out form is five that EPs know or do not. The epsilon is lost; no state is near 0."""
    scaled = weight * np.sqrt(np.float32(weight.size))
    return graph.node("Mul", graph.node("LpNormalization", x, axis=-1, p=2), graph.weight(name, scaled))


def embed(graph: Graph, ids: str, embedding: Array, output: str) -> str:
    """Rows of the table. A table in fp16 is widened after the Gather, so that not the whole of it is."""
    if not graph.halves(embedding):
        return graph.node("Gather", graph.weight("embedding", embedding), ids, output=output)
    rows = graph.node("Gather", graph.weight("embedding", embedding.astype(np.float16)), ids)
    return graph.node("Cast", rows, output=output, to=TensorProto.FLOAT)


def lm_head(graph: Graph, x: str, weights: Weights, output: str) -> str:
    x = linear(graph, rms_norm(graph, x, "final_norm", weights.final_norm), "head", weights.head)
    if weights.head_bias is None:
        return graph.node("Identity", x, output=output)
    return graph.node("Add", x, weights.head_bias, output=output)


def mlp(graph: Graph, x: str, name: str, layer: Layer) -> str:
    gate = linear(graph, x, f"{name}.gate", layer.gate)
    silu = graph.node("Mul", gate, graph.node("Sigmoid", gate))
    wide = graph.node("Mul", silu, linear(graph, x, f"{name}.up", layer.up))
    return linear(graph, wide, f"{name}.down", layer.down)


def rope_tables(shape: Shape, slots: int) -> tuple[Array, Array]:
    """cos and sin of every position, [slots, head_size / 2]."""
    frequencies = shape.rope_base ** -(np.arange(0, shape.head_size, 2) / shape.head_size)
    angles = np.arange(slots)[:, None] * frequencies[None, :]
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def rotation(size: int) -> Array:
    """R with x @ R = [-second half of x, first half]. RoPE written with it is right everywhere; written with Slice and
    Concat, OpenVINO 2026.4 puts its own RoPE in place, which is wrong after an EPContext model is loaded."""
    half = size // 2
    matrix = np.zeros((size, size), np.float32)
    for column in range(half):
        matrix[half + column, column] = -1
        matrix[column, half + column] = 1
    return matrix


@dataclass(frozen=True)
class Window:
    """What the layers of one static stage share: the `size` tokens it sees at once and the `slots` of its cache."""

    size: int
    slots: int
    cos: str  # [1, 1, size, head_size]
    sin: str
    written: str  # [1, 1, slots, 1]: does this window write the slot?
    place: str  # [slots, size]: 1 where the token goes into the slot
    mask: str  # [1, 1, size, slots]: added to the scores


def window(graph: Graph, shape: Shape, size: int, slots: int, last: str) -> Window:
    """`last` is genai's past_seq_len, [1, 1]: the slot of the window's last token. Where a prompt does not fill its
    last window, the rest is padding behind it, which no token sees before generation overwrites its slot."""
    positions = graph.node("Add", last, np.arange(1 - size, 1, dtype=np.int32)[None, :])
    all_slots = np.arange(slots, dtype=np.int32)

    def turned(name: str, table: Array) -> str:
        rows = graph.node("Gather", graph.weight(name, np.concatenate([table, table], axis=1)), positions, axis=0)
        return graph.node("Reshape", rows, int64(1, 1, size, shape.head_size))

    cos_table, sin_table = rope_tables(shape, slots)
    first = graph.node("Sub", last, int32(size - 1))
    column = all_slots.reshape(1, 1, slots, 1)
    not_before = graph.node("GreaterOrEqual", column, first)
    written = graph.node("And", not_before, graph.node("LessOrEqual", column, last))
    place = graph.node("Cast", graph.node("Equal", all_slots.reshape(slots, 1), positions), to=TensorProto.FLOAT)
    rows = graph.node("Reshape", positions, int64(size, 1))
    seen = graph.node("LessOrEqual", all_slots.reshape(1, slots), rows)
    zero, hidden = np.zeros(1, np.float32), np.array([HIDDEN_FROM_ATTENTION])
    mask = graph.node("Reshape", graph.node("Where", seen, zero, hidden), int64(1, 1, size, slots))
    return Window(size, slots, turned("rope.cos", cos_table), turned("rope.sin", sin_table), written, place, mask)


def static_layer(
    graph: Graph, x: str, index: int, weights: Weights, view: Window, past: tuple[str, str], present: tuple[str, str]
) -> str:
    """A layer whose every shape is known, of plain operators only: it compiles to one EPContext node with its stage."""
    shape, layer, name = weights.shape, weights.layers[index], f"layer{index}"
    normed = rms_norm(graph, x, f"{name}.attention_norm", layer.attention_norm)
    scale = np.float32(shape.head_size**-0.5)

    def heads(part: str, matrix: Array, count: int) -> str:
        flat = linear(graph, normed, f"{name}.{part}", matrix)
        split = graph.node("Reshape", flat, int64(1, view.size, count, shape.head_size))
        return graph.node("Transpose", split, perm=[0, 2, 1, 3])

    def rope(value: str) -> str:
        turned = graph.node("MatMul", value, graph.weight("rope.rotation", rotation(shape.head_size)))
        return graph.node("Add", graph.node("Mul", value, view.cos), graph.node("Mul", turned, view.sin))

    q = rope(heads("q", layer.q * scale, shape.heads))
    keys = _updated(graph, rope(heads("k", layer.k, shape.kv_heads)), view, past[0], present[0])
    values = _updated(graph, heads("v", layer.v, shape.kv_heads), view, past[1], present[1])

    # The query heads that share a key-value head are rows of one product, so that no key is repeated.
    rows = shape.heads // shape.kv_heads * view.size
    q = graph.node("Reshape", q, int64(1, shape.kv_heads, rows, shape.head_size))
    scores = graph.node("MatMul", q, graph.node("Transpose", keys, perm=[0, 1, 3, 2]))
    scores = graph.node("Reshape", scores, int64(1, shape.heads, view.size, view.slots))
    share = graph.node("Softmax", graph.node("Add", scores, view.mask), axis=-1)
    mixed = graph.node("MatMul", graph.node("Reshape", share, int64(1, shape.kv_heads, rows, view.slots)), values)
    mixed = graph.node("Reshape", mixed, int64(1, shape.heads, view.size, shape.head_size))
    mixed = graph.node("Transpose", mixed, perm=[0, 2, 1, 3])
    mixed = graph.node("Reshape", mixed, int64(1, view.size, shape.heads * shape.head_size))
    return _rest(graph, x, mixed, name, layer)


def _updated(graph: Graph, fresh: str, view: Window, past: str, present: str) -> str:
    """The cache with this window's part in it, as float. genai gives one buffer as past and present, so every slot may
    depend on nothing but itself and the new values: hence Where, and no Concat, Scatter or Slice."""
    fresh = graph.node("MatMul", view.place, fresh)
    half = graph.node("Cast", fresh, to=TensorProto.FLOAT16)
    graph.node("Where", view.written, half, past, output=present)
    return graph.node("Cast", present, to=TensorProto.FLOAT)


def grouped_layer(
    graph: Graph,
    x: str,
    index: int,
    weights: Weights,
    slots: int,
    lengths: tuple[str, str],
    past: tuple[str, str],
    present: tuple[str, str],
) -> str:
    """A layer with GroupQueryAttention, as exporters write flat decoders; `lengths` are its seqlens_k and total."""
    shape, layer, name = weights.shape, weights.layers[index], f"layer{index}"
    normed = rms_norm(graph, x, f"{name}.attention_norm", layer.attention_norm)
    cos, sin = rope_tables(shape, slots)
    mixed, *_ = graph.nodes(
        "GroupQueryAttention",
        linear(graph, normed, f"{name}.q", layer.q),
        linear(graph, normed, f"{name}.k", layer.k),
        linear(graph, normed, f"{name}.v", layer.v),
        *past,
        *lengths,
        graph.weight("rope.cos", cos),
        graph.weight("rope.sin", sin),
        outputs=[f"{name}.attention", *present],
        domain=MICROSOFT,
        num_heads=shape.heads,
        kv_num_heads=shape.kv_heads,
        do_rotary=1,
        scale=shape.head_size**-0.5,
    )
    return _rest(graph, x, mixed, name, layer)


def _rest(graph: Graph, x: str, mixed: str, name: str, layer: Layer) -> str:
    """From what the attention mixed to the layer's output."""
    x = graph.node("Add", x, linear(graph, mixed, f"{name}.o", layer.o))
    normed = rms_norm(graph, x, f"{name}.mlp_norm", layer.mlp_norm)
    return graph.node("Add", x, mlp(graph, normed, name, layer))
