#!/usr/bin/env python3
"""Makes onnxruntime-genai bundles for tests and examples; see --help and tools/genai_bundle.

    tools/python tools/make_genai_bundle.py build/tiny --tiny
    tools/python tools/make_genai_bundle.py build/smollm2 --gguf MODEL.gguf --store fp16 --cache 256
"""

import sys

try:
    from genai_bundle.cli import main
except ModuleNotFoundError as missing:
    sys.exit(f"make_genai_bundle: no module {missing.name} here; run `tools/setup genai`, then this with tools/python")

sys.exit(main())
