"""Building and writing one ONNX graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .weights import Array

OPSET = 18
MICROSOFT = "com.microsoft"
IR_VERSION = 9
MIN_HALF_SIZE = 4096  # numbers; a smaller matrix is not worth a Cast
AUTO_EXTERNAL_ABOVE = 64 << 20  # bytes of weights in a graph; protobuf ends at 2 GB, and long before it parsing is slow
AUTO_EXTERNAL_SIZE = 1024
ALIGNMENT = 4096  # external weights start on a page, so that a reader can map them


class Graph:
    """Nodes are added in the order they run; every method that makes a value gives its name back."""

    def __init__(self, name: str, store_half: bool) -> None:
        self._name = name
        self._store_half = store_half
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._arrays: dict[str, Array] = {}
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._weights: set[str] = set()

    @property
    def input_names(self) -> list[str]:
        return [value.name for value in self._inputs]

    @property
    def output_names(self) -> list[str]:
        return [value.name for value in self._outputs]

    def input(self, name: str, element: int, shape: list[int | str]) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def output(self, name: str, element: int, shape: list[int | str]) -> None:
        self._outputs.append(helper.make_tensor_value_info(name, element, shape))

    def constant(self, array: Array) -> str:
        """A nameless constant; equal ones are one."""
        array = np.ascontiguousarray(array)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            name = f"constant_{len(self._constants)}"
            self._constants[key] = name
            self._arrays[name] = array
        return self._constants[key]

    def weight(self, name: str, array: Array) -> str:
        """A named weight; a second call with the name gives the first's. Kept in fp16 where the graph stores halves."""
        if name not in self._weights:
            self._weights.add(name)
            array = np.ascontiguousarray(array)
            if self.halves(array):
                self._arrays[f"{name}.half"] = array.astype(np.float16)
                self.node("Cast", f"{name}.half", output=name, to=TensorProto.FLOAT)
            else:
                self._arrays[name] = array
        return name

    def halves(self, array: Array) -> bool:
        return self._store_half and array.ndim == 2 and array.dtype == np.float32 and array.size > MIN_HALF_SIZE

    def node(self, op: str, *inputs: str | Array, output: str | None = None, **attributes: object) -> str:
        return self.nodes(op, *inputs, outputs=[output or f"{op}_{len(self._nodes)}"], **attributes)[0]

    def nodes(
        self, op: str, *inputs: str | Array, outputs: list[str], domain: str = "", **attributes: object
    ) -> list[str]:
        """One node with the outputs named; an array among the inputs becomes a constant."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        name = f"{self._name}/{len(self._nodes)}_{op}"
        self._nodes.append(helper.make_node(op, names, outputs, name=name, domain=domain, **attributes))
        return outputs

    def write(self, folder: Path, file: str, external: int | None) -> None:
        """Writes the model; float arrays of `external` bytes or more go to FILE.data. With None, a graph of big weights
        has them there and a small one is one file."""
        if external is None:
            total = sum(array.nbytes for array in self._arrays.values())
            external = AUTO_EXTERNAL_SIZE if total > AUTO_EXTERNAL_ABOVE else total + 1
        kept, moved = [], []
        for name, array in self._arrays.items():
            # Shapes and positions stay in the model: ORT infers shapes from them before it reads external data.
            outside = array.dtype.kind == "f" and array.nbytes >= external
            (moved if outside else kept).append((name, array))
        initializers = [numpy_helper.from_array(array, name) for name, array in kept]
        initializers += self._write_external(folder / f"{file}.data", moved)
        graph = helper.make_graph(self._nodes, self._name, self._inputs, self._outputs, initializers)
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain == MICROSOFT for node in self._nodes):
            opsets.append(helper.make_opsetid(MICROSOFT, 1))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="precast")
        (folder / file).write_bytes(model.SerializeToString(deterministic=True))

    @staticmethod
    def _write_external(path: Path, arrays: list[tuple[str, Array]]) -> list[TensorProto]:
        if not arrays:
            return []
        tensors = []
        with path.open("wb") as file:
            for name, array in arrays:
                file.write(bytes(-file.tell() % ALIGNMENT))
                element = helper.np_dtype_to_tensor_dtype(array.dtype)
                tensor = TensorProto(name=name, data_type=element, dims=array.shape, data_location=TensorProto.EXTERNAL)
                place = {"location": path.name, "offset": file.tell(), "length": array.nbytes}
                for key, value in place.items():
                    tensor.external_data.add(key=key, value=str(value))
                file.write(array.tobytes())
                tensors.append(tensor)
        return tensors
