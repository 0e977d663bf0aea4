#include "ort/ep_table.hpp"

#include <algorithm>
#include <array>

#include "util/text.hpp"

namespace precast::ort {

namespace {

using enum DeviceClass;

EpSpec cpu_ep() {
  EpSpec ep;
  ep.name = "CPUExecutionProvider";
  ep.aliases = {"cpu"};
  ep.hardware = "any CPU";
  ep.device_classes = {cpu};
  return ep;
}

// onnxruntime-ep-openvino 1.8.1, read from the library and tried: it offers a device only for hardware whose vendor is
// Intel, so none at all on a machine with an AMD CPU; ORT_OPENVINO_ACCEPT_OPS and _REJECT_OPS change which
// nodes are taken; ONEDNN_MAX_CPU_ISA changes the binary and not the metadata.
EpSpec openvino_ep() {
  EpSpec ep;
  ep.name = "OpenVINOExecutionProvider";
  ep.aliases = {"openvino"};
  ep.hardware = "Intel CPUs, GPUs and NPUs (PRECAST_ASSUME_CPU_VENDOR=intel has it use another CPU)";
  ep.device_classes = {npu, gpu, cpu};
  ep.library_names = {"libonnxruntime_providers_openvino_plugin.so"};
  ep.package_folders = {"onnxruntime_ep_openvino"};
  ep.dependent_files = {"libopenvino*", "libtbb*", "libhwloc*", "libonnxruntime_providers_openvino*", "cache.json"};
  ep.makes_ep_context = true;
  ep.file_options = {"load_config"};
  ep.cache_options = {"cache_dir", "CACHE_DIR"};
  ep.environment = {"OPENVINO_*", "ORT_OPENVINO_*", "OV_*", "ONEDNN_*", "DNNL_*"};
  ep.install_hint = "the Python package onnxruntime-ep-openvino";
  return ep;
}

// onnxruntime-qnn 2.7.0. Performance mode, RPC latency and profiling steer the HTP at run time and are not in the
// binary.
EpSpec qnn_ep() {
  EpSpec ep;
  ep.name = "QNNExecutionProvider";
  ep.aliases = {"qnn"};
  ep.hardware = "Qualcomm Snapdragon";
  ep.device_classes = {npu, gpu, cpu};
  ep.library_names = {"libonnxruntime_providers_qnn.so"};
  ep.package_folders = {"onnxruntime_qnn"};
  ep.dependent_files = {"libQnn*", "libHtpPrepare*", "libonnxruntime_providers_qnn*"};
  ep.makes_ep_context = true;
  ep.narrows_floats = true;
  ep.library_options = {"backend_path", "qnn_saver_path", "qnn_ir_backend_path"};
  ep.run_time_options = {"htp_performance_mode", "rpc_control_latency", "rpc_polling_time", "profiling_*"};
  ep.environment = {"ORT_QNN_*", "QNN_*", "ADSP_LIBRARY_PATH"};
  ep.install_hint = "the Python package onnxruntime-qnn";
  return ep;
}

EpSpec nv_tensorrt_rtx_ep() {
  EpSpec ep;
  ep.name = "NvTensorRTRTXExecutionProvider";
  ep.aliases = {"nv_tensorrt_rtx", "nvtensorrtrtx"};
  ep.hardware = "NVIDIA RTX GPUs";
  ep.device_classes = {gpu};
  ep.library_names = {"libonnxruntime_providers_nv_tensorrt_rtx.so"};
  ep.package_folders = {"onnxruntime_ep_nv_tensorrt_rtx", "onnxruntime_ep_nv_tensorrt_rtx_cu13",
                        "onnxruntime_ep_nv_tensorrt_rtx_cu12", "onnxruntime/capi"};
  ep.dependent_files = {"libonnxruntime_providers_nv_tensorrt_rtx*", "libtensorrt_rtx*", "libtensorrt_onnxparser_rtx*",
                        "libcudart*"};
  ep.makes_ep_context = true;
  // Streams are addresses in the host process; graph capture and logging leave the engine as it is.
  ep.run_time_options = {"has_user_compute_stream", "user_compute_stream",  "user_aux_stream_array",
                         "enable_cuda_graph",       "nv_cuda_graph_enable", "nv_detailed_build_log"};
  ep.cache_options = {"nv_runtime_cache_path"};
  ep.environment = {"ORT_NV_TENSORRT_RTX_*", "ORT_TENSORRT_*", "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE"};
  ep.install_hint = "the Python package onnxruntime-ep-nv-tensorrt-rtx";
  return ep;
}

EpSpec vitisai_ep() {
  EpSpec ep;
  ep.name = "VitisAIExecutionProvider";
  ep.aliases = {"vitisai"};
  ep.hardware = "AMD Ryzen AI NPUs";
  ep.device_classes = {npu};
  ep.library_names = {"libonnxruntime_providers_vitisai.so", "libonnxruntime_vitisai_ep.so"};
  ep.package_folders = {"onnxruntime_ep_vitisai", "onnxruntime_vitisai", "onnxruntime/capi"};
  ep.dependent_files = {
      "libonnxruntime_providers_vitisai*", "libonnxruntime_vitisai_ep*", "libvaip*", "libxir*", "libvart*", "*.xclbin"};
  ep.makes_ep_context = true;
  ep.file_options = {"config_file", "xclbin"};
  ep.run_time_options = {"log_level"};
  ep.cache_options = {"cache_dir", "cacheDir", "cache_key", "cacheKey", "enable_cache_file_io_in_mem"};
  ep.environment = {"XLNX_*", "VAIP_*", "XLNX_VART_FIRMWARE", "NUM_OF_DPU_RUNNERS"};
  ep.install_hint = "AMD's Ryzen AI software";
  return ep;
}

// Its own cache (.mxr files) is not EPContext; nothing of it can be stored.
EpSpec migraphx_ep() {
  EpSpec ep;
  ep.name = "MIGraphXExecutionProvider";
  ep.aliases = {"migraphx"};
  ep.hardware = "AMD GPUs";
  ep.device_classes = {gpu};
  ep.library_names = {"libonnxruntime_providers_migraphx.so"};
  ep.package_folders = {"onnxruntime_ep_migraphx", "onnxruntime/capi"};
  ep.dependent_files = {"libonnxruntime_providers_migraphx*", "libmigraphx*"};
  ep.run_time_options = {"migraphx_mem_limit", "migraphx_arena_extend_strategy"};
  ep.cache_options = {"migraphx_model_cache_dir", "migraphx_save_compiled_model", "migraphx_save_model_path",
                      "migraphx_load_compiled_model", "migraphx_load_model_path"};
  ep.environment = {"ORT_MIGRAPHX_*", "MIGRAPHX_*", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};
  ep.install_hint = "the Python package onnxruntime-migraphx";
  return ep;
}

EpSpec cuda_ep() {
  EpSpec ep;
  ep.name = "CUDAExecutionProvider";
  ep.aliases = {"cuda"};
  ep.hardware = "NVIDIA GPUs";
  ep.device_classes = {gpu};
  ep.library_names = {"libonnxruntime_providers_cuda.so", "libonnxruntime_providers_cuda_plugin.so"};
  ep.package_folders = {"onnxruntime_ep_cuda", "onnxruntime/capi"};
  ep.dependent_files = {"libonnxruntime_providers_cuda*", "libonnxruntime_providers_shared*"};
  ep.run_time_options = {"has_user_compute_stream", "user_compute_stream", "gpu_mem_limit", "enable_cuda_graph"};
  ep.environment = {"ORT_CUDA_*", "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE"};
  ep.install_hint = "the Python package onnxruntime-gpu";
  return ep;
}

EpSpec tensorrt_ep() {
  EpSpec ep;
  ep.name = "TensorrtExecutionProvider";
  ep.aliases = {"tensorrt"};
  ep.hardware = "NVIDIA GPUs";
  ep.device_classes = {gpu};
  ep.library_names = {"libonnxruntime_providers_tensorrt.so"};
  ep.package_folders = {"onnxruntime/capi"};
  ep.dependent_files = {"libonnxruntime_providers_tensorrt*", "libonnxruntime_providers_shared*", "libnvinfer*",
                        "libnvonnxparser*"};
  ep.makes_ep_context = true;
  ep.run_time_options = {"has_user_compute_stream", "user_compute_stream", "trt_cuda_graph_enable",
                         "trt_detailed_build_log", "trt_context_memory_sharing_enable"};
  ep.cache_options = {"trt_engine_cache_enable", "trt_engine_cache_path", "trt_engine_cache_prefix",
                      "trt_timing_cache_enable", "trt_timing_cache_path"};
  ep.environment = {"ORT_TENSORRT_*", "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE"};
  ep.install_hint = "the Python package onnxruntime-gpu and NVIDIA TensorRT";
  return ep;
}

EpSpec dml_ep() {
  EpSpec ep;
  ep.name = "DmlExecutionProvider";
  ep.aliases = {"dml"};
  ep.hardware = "GPUs under Windows";
  ep.device_classes = {gpu, npu};
  ep.install_hint = "Windows, and an ONNX Runtime with DirectML";
  return ep;
}

EpSpec webgpu_ep() {
  EpSpec ep;
  ep.name = "WebGpuExecutionProvider";
  ep.aliases = {"webgpu"};
  ep.hardware = "GPUs with a Vulkan, Metal or Direct3D driver";
  ep.device_classes = {gpu};
  ep.library_names = {"libonnxruntime_providers_webgpu.so"};
  ep.package_folders = {"onnxruntime_ep_webgpu"};
  ep.dependent_files = {"libonnxruntime_providers_webgpu*", "libdawn*", "libwebgpu*"};
  ep.install_hint = "the Python package onnxruntime-ep-webgpu";
  return ep;
}

const std::vector<EpSpec>& table() {
  static const std::vector<EpSpec> eps = {cpu_ep(),     openvino_ep(), qnn_ep(),  nv_tensorrt_rtx_ep(),
                                          vitisai_ep(), migraphx_ep(), cuda_ep(), tensorrt_ep(),
                                          dml_ep(),     webgpu_ep()};
  return eps;
}

constexpr std::array<std::string_view, 3> kDeviceClasses = {"cpu", "gpu", "npu"};

}  // namespace

std::string_view to_string(DeviceClass device_class) {
  return kDeviceClasses.at(static_cast<std::size_t>(device_class));
}

std::optional<DeviceClass> parse_device_class(std::string_view text) {
  const std::string lower = util::ascii_lower(text);
  for (const DeviceClass device_class : {cpu, gpu, npu}) {
    if (lower == to_string(device_class)) return device_class;
  }
  return std::nullopt;
}

std::span<const EpSpec> ep_table() {
  return table();
}

const EpSpec* find_ep(std::string_view name_or_alias) {
  const std::string lower = util::ascii_lower(name_or_alias);
  for (const EpSpec& ep : table()) {
    if (lower == util::ascii_lower(ep.name) || std::ranges::find(ep.aliases, lower) != ep.aliases.end()) return &ep;
  }
  return nullptr;
}

std::string known_ep_aliases() {
  std::string text;
  for (const EpSpec& ep : table()) {
    if (!text.empty()) text += ", ";
    text += ep.aliases.front();
  }
  return text;
}

bool matches_any(std::span<const std::string_view> globs, std::string_view value) {
  return std::ranges::any_of(globs, [&](std::string_view glob) { return util::glob_match(glob, value); });
}

}  // namespace precast::ort
