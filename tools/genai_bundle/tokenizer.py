"""tokenizer.json and tokenizer_config.json of a byte-level BPE vocabulary, as onnxruntime-genai reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .weights import Vocabulary


def byte_letters() -> list[str]:
    """The letter that stands for each byte in a byte-level vocabulary. Visible characters of Latin-1 stand for
    themselves; the others are lifted, in order, to U+0100 and on: a vocabulary file has no control characters."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    letters, lifted = [], 0x100
    for byte in range(256):
        letters.append(chr(byte if byte in visible else lifted))
        lifted += byte not in visible
    return letters


def write(folder: Path, vocabulary: Vocabulary) -> None:
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(vocabulary), ensure_ascii=False), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(_settings(vocabulary), indent=2) + "\n", encoding="utf-8")


def _tokenizer(vocabulary: Vocabulary) -> dict[str, Any]:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    digits = [{"type": "Digits", "individual_digits": True}] if vocabulary.split_digits else []
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(token, vocabulary.tokens[token]) for token in vocabulary.special],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*digits, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {text: token for token, text in enumerate(vocabulary.tokens)},
            "merges": vocabulary.merges,
        },
    }


def _added(token: int, text: str) -> dict[str, Any]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": token, "content": text, **plain, "special": True}


def _settings(vocabulary: Vocabulary) -> dict[str, Any]:
    text = vocabulary.tokens
    return {
        "tokenizer_class": "GPT2Tokenizer",
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": vocabulary.model_max_length,
        "bos_token": text[vocabulary.bos],
        "eos_token": text[vocabulary.eos],
        "pad_token": text[vocabulary.pad],
        "unk_token": text[vocabulary.pad],
        "chat_template": vocabulary.chat_template,
    }
