"""genai_config.json. Where genai reads options of a session or an EP it accepts strings only, numbers are an error; so
those are strings here even where they count something."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .layouts import Stage
    from .weights import Source

EP_STAGES = ("context", "iterator")  # the static ones; the others run on the CPU

# Without the hint OpenVINO computes in bf16 on CPUs with AMX and says other tokens. QNN gets the SoC the compiler is to
# compile for; its backend_path depends on the machine and is not for a bundle to know.
EP_OPTIONS: dict[str, list[dict[str, dict[str, str]]]] = {
    "none": [],
    "openvino": [{"OpenVINO": {"load_config": json.dumps({"CPU": {"INFERENCE_PRECISION_HINT": "f32"}})}}],
    "qnn": [
        {
            "QNN": {
                "soc_model": "60",
                "htp_arch": "73",
                "enable_htp_fp16_precision": "1",
                "htp_graph_finalization_optimization_mode": "0",
            }
        }
    ],
}


def write_pipeline(folder: Path, source: Source, slots: int, prefill: int, stages: list[Stage], ep: str | None) -> None:
    decoder = _sizes(source) | {
        "sliding_window": {
            "window_size": prefill,
            "pad_value": 0,
            "alignment": "left",
            "slide_inputs": True,
            "slide_key_value_cache": False,  # the cache holds the whole context
        },
        "inputs": {
            "input_ids": "input_ids",
            "past_sequence_length": "past_seq_len",
            "total_sequence_length": "total_seq_len",
            "past_key_names": "past_keys_%d",
            "past_value_names": "past_values_%d",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present_keys_%d",
            "present_value_names": "present_values_%d",
        },
        "pipeline": [{stage.name: _stage(stage, ep)} for stage in stages],
    }
    _write(folder, source, slots, "decoder-pipeline", decoder)


def write_decoder(folder: Path, source: Source, slots: int) -> None:
    decoder = _sizes(source) | {
        "filename": "model.onnx",
        "session_options": {"log_id": "decoder", "provider_options": []},
        "inputs": {
            "input_ids": "input_ids",
            "attention_mask": "attention_mask",
            "past_key_names": "past_key_values.%d.key",
            "past_value_names": "past_key_values.%d.value",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
    }
    _write(folder, source, slots, "llama", decoder)


def _sizes(source: Source) -> dict[str, Any]:
    shape = source.weights.shape
    return {
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "num_hidden_layers": shape.layers,
        "head_size": shape.head_size,
    }


def _stage(stage: Stage, ep: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "filename": f"{stage.name}.onnx",
        "inputs": stage.inputs,
        "outputs": stage.outputs,
        "run_on_prompt": stage.name != "iterator",
        "run_on_token_gen": stage.name != "context",
    }
    if stage.name == "lm_head":
        entry["is_lm_head"] = True
    if ep is not None and stage.name in EP_STAGES:
        entry["session_options"] = {"log_id": stage.name, "provider_options": EP_OPTIONS[ep]}
    return entry


def _write(folder: Path, source: Source, slots: int, kind: str, decoder: dict[str, Any]) -> None:
    vocabulary = source.vocabulary
    config = {
        "model": {
            "type": kind,
            "context_length": slots,
            "bos_token_id": vocabulary.bos,
            "eos_token_id": vocabulary.eos,
            "pad_token_id": vocabulary.pad,
            "vocab_size": source.weights.shape.vocabulary,
            "decoder": decoder,
        },
        "search": {"max_length": slots, "min_length": 0, "do_sample": False, "past_present_share_buffer": True},
    }
    (folder / "genai_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
