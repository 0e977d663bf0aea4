"""Makes onnxruntime-genai bundles from numpy arrays: no torch, no model hub.

precast's tests and examples need bundles whose every byte is known, so this package writes the ONNX graphs itself:
`tiny` and `gguf_source` bring weights, `layers` and `layouts` make graphs of them, `tokenizer` and `config` write the
JSON beside them, and `cli` puts the folder in its place.
"""
