"""The command line, and putting a bundle in its place."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from . import config, gguf_source, tokenizer
from .tiny import DEFAULT_SEED, tiny
from .weights import Source, SourceError

BAD_ARGUMENTS, FAILED = 2, 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line instead of the usage and the line."""
        self.exit(BAD_ARGUMENTS, f"{self.prog}: {message}\n")


def _number(least: int):
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no whole number of at least {least}")
        return int(text)

    return parse


def _arguments(arguments: list[str] | None) -> tuple[_Parser, argparse.Namespace]:
    parser = _Parser(prog="make_genai_bundle", allow_abbrev=False, description="Makes an onnxruntime-genai bundle.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the bundle to write")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--tiny", action="store_true", help="a tiny model of random weights")
    source.add_argument("--gguf", type=Path, metavar="FILE", help="a llama model from a GGUF file")
    parser.add_argument("--layout", choices=["pipeline", "decoder"], default="pipeline",
                        help="four stages of static shapes (default), or one model.onnx")
    parser.add_argument("--cache", type=_number(1), metavar="N", help="tokens of context (tiny: 128, GGUF: 512)")
    parser.add_argument("--prefill", type=_number(1), metavar="N",
                        help="tokens of a prompt window of a pipeline (tiny: 16, GGUF: 64); divides the context")
    parser.add_argument("--store", choices=["fp32", "fp16"], default="fp32", help="matrices on disk (default: fp32)")
    parser.add_argument("--external-data", type=_number(0), metavar="BYTES",
                        help="weights of so many bytes go to MODEL.onnx.data (default: only in models above 64 MiB)")
    parser.add_argument("--ep", choices=list(config.EP_OPTIONS),
                        help="write provider_options for the pipeline's static stages (default: write none)")
    parser.add_argument("--seed", type=_number(0), metavar="N", help=f"of the tiny model (default: {DEFAULT_SEED})")
    parser.add_argument("--tiny-text", choices=["random", "bytes"],
                        help="what the tiny model says: printable ASCII (default), or characters of one to four bytes")
    parser.add_argument("--eos-after", type=_number(1), metavar="N", help="the tiny model's N-th token is EOS")
    parser.add_argument("--overwrite", action="store_true", help="replace a folder that is not empty")
    return parser, parser.parse_args(arguments)


def _source(options: argparse.Namespace) -> Source:
    if options.gguf is None:
        seed = DEFAULT_SEED if options.seed is None else options.seed
        return tiny(seed, options.tiny_text or "random", options.eos_after)
    for name in ("seed", "tiny_text", "eos_after"):
        if getattr(options, name) is not None:
            raise SourceError(f"--{name.replace('_', '-')} is for --tiny")
    return gguf_source.load(options.gguf)


def _check_layout(options: argparse.Namespace, slots: int, prefill: int) -> None:
    if options.layout == "decoder":
        for name in ("prefill", "ep"):
            if getattr(options, name) is not None:
                raise SourceError(f"--{name} is for --layout pipeline")
    elif slots % prefill != 0:
        # The last window of a long prompt would reach beyond the cache.
        raise SourceError(f"--prefill {prefill} does not divide the context of {slots} tokens")


def _write(folder: Path, source: Source, options: argparse.Namespace, slots: int, prefill: int) -> None:
    from . import layouts  # brings onnx, which bad arguments need not wait for

    storage = layouts.Storage(options.store == "fp16", options.external_data)
    if options.layout == "pipeline":
        stages = layouts.write_pipeline(folder, source.weights, slots, prefill, storage)
        config.write_pipeline(folder, source, slots, prefill, stages, options.ep)
    else:
        layouts.write_decoder(folder, source.weights, slots, storage)
        config.write_decoder(folder, source, slots)
    tokenizer.write(folder, source.vocabulary)


def _put_in_place(fresh: Path, folder: Path) -> None:
    """Renames; an old bundle steps aside first, for a rename replaces only an empty folder."""
    if folder.is_dir() and any(folder.iterdir()):
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
        folder.rename(aside)
        fresh.rename(folder)
        shutil.rmtree(aside)
    else:
        fresh.rename(folder)


def main(arguments: list[str] | None = None) -> int:
    parser, options = _arguments(arguments)
    folder = Path(os.path.abspath(options.folder))
    try:
        if os.path.lexists(folder) and not folder.is_dir():
            parser.error(f"{options.folder} is not a folder")
        if folder.is_dir() and any(folder.iterdir()) and not options.overwrite:
            parser.error(f"{options.folder} is not empty; --overwrite replaces it")
        source = _source(options)
        slots, prefill = options.cache or source.cache, options.prefill or source.prefill
        _check_layout(options, slots, prefill)
    except (SourceError, OSError) as error:
        parser.error(str(error))

    fresh = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.new.", dir=folder.parent))
        fresh.chmod(0o777 & ~_umask())  # mkdtemp's folder is its maker's alone
        _write(fresh, source, options, slots, prefill)
        _put_in_place(fresh, folder)
    except OSError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return FAILED
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{options.folder}: {size / 1e6:.1f} MB, {slots} tokens of context")
    return 0


def _umask() -> int:
    value = os.umask(0o022)
    os.umask(value)
    return value
