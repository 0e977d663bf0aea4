"""The two layouts of a bundle: a pipeline of static stages, and one flat decoder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onnx import TensorProto

from . import layers
from .graph import Graph
from .weights import Weights

INT64, INT32, FLOAT, HALF = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT, TensorProto.FLOAT16


@dataclass(frozen=True)
class Storage:
    """How the graphs go to disk. `external`: the least bytes of a weight beside its model; None: by its size."""

    half: bool
    external: int | None


@dataclass(frozen=True)
class Stage:
    """A written stage, as genai_config.json describes it."""

    name: str
    inputs: list[str]
    outputs: list[str]


def write_pipeline(folder: Path, weights: Weights, slots: int, prefill: int, storage: Storage) -> list[Stage]:
    """Four stages. Prompts run through `context`, `prefill` tokens at a time, and generated tokens through `iterator`:
    two graphs of the same weights, because an NPU wants every shape fixed."""
    shape = weights.shape
    states = [1, "sequence", shape.hidden]

    embeddings = Graph("embeddings", storage.half)
    ids = embeddings.input("input_ids", INT64, [1, "sequence"])
    layers.embed(embeddings, ids, weights.embedding, "input_hidden_states")
    embeddings.output("input_hidden_states", FLOAT, states)

    head = Graph("lm_head", storage.half)
    layers.lm_head(head, head.input("output_hidden_states", FLOAT, states), weights, "logits")
    head.output("logits", FLOAT, [1, "sequence", shape.vocabulary])

    context = _static_stage("context", weights, prefill, slots, storage)
    iterator = _static_stage("iterator", weights, 1, slots, storage)
    stages = []
    for name, graph in (("embeddings", embeddings), ("context", context), ("iterator", iterator), ("lm_head", head)):
        graph.write(folder, f"{name}.onnx", storage.external)
        stages.append(Stage(name, graph.input_names, graph.output_names))
    return stages


def _static_stage(name: str, weights: Weights, size: int, slots: int, storage: Storage) -> Graph:
    shape = weights.shape
    cache = [1, shape.kv_heads, slots, shape.head_size]
    states = [1, size, shape.hidden]
    graph = Graph(name, storage.half)
    past, present = [], []
    for index in range(shape.layers):
        past.append((graph.input(f"past_keys_{index}", HALF, cache), graph.input(f"past_values_{index}", HALF, cache)))
        present.append((f"present_keys_{index}", f"present_values_{index}"))
    x = graph.input("input_hidden_states", FLOAT, states)
    last = graph.input("past_seq_len", INT32, [1, 1])
    # genai hands it over beside past_seq_len, which alone says where the window is.
    graph.input("total_seq_len", INT32, [1])
    view = layers.window(graph, shape, size, slots, last)
    for index in range(shape.layers):
        x = layers.static_layer(graph, x, index, weights, view, past[index], present[index])
    graph.node("Identity", x, output="output_hidden_states")
    graph.output("output_hidden_states", FLOAT, states)
    for keys, values in present:
        graph.output(keys, HALF, cache)
        graph.output(values, HALF, cache)
    return graph


def write_decoder(folder: Path, weights: Weights, slots: int, storage: Storage) -> None:
    """model.onnx: ids and the attention mask in, logits out, the key-value cache in fp32 and as long as genai wants."""
    shape = weights.shape
    graph = Graph("decoder", storage.half)
    ids = graph.input("input_ids", INT64, ["batch", "sequence"])
    attention = graph.input("attention_mask", INT64, ["batch", "total"])
    old = ["batch", shape.kv_heads, "past", shape.head_size]
    new = ["batch", shape.kv_heads, "total", shape.head_size]
    past, present = [], []
    for index in range(shape.layers):
        names = [f"past_key_values.{index}.{part}" for part in ("key", "value")]
        past.append((graph.input(names[0], FLOAT, old), graph.input(names[1], FLOAT, old)))
        present.append((f"present.{index}.key", f"present.{index}.value"))

    counted = graph.node("ReduceSum", attention, layers.int64(1), keepdims=1)
    last = graph.node("Cast", graph.node("Sub", counted, layers.int64(1)), to=INT32)
    width = graph.node("Gather", graph.node("Shape", attention), layers.int64(1).reshape(()))
    total = graph.node("Cast", width, to=INT32)

    x = layers.embed(graph, ids, weights.embedding, "embedded")
    for index in range(shape.layers):
        x = layers.grouped_layer(graph, x, index, weights, slots, (last, total), past[index], present[index])
    layers.lm_head(graph, x, weights, "logits")
    graph.output("logits", FLOAT, ["batch", "sequence", shape.vocabulary])
    for keys, values in present:
        graph.output(keys, FLOAT, new)
        graph.output(values, FLOAT, new)
    graph.write(folder, "model.onnx", storage.external)
