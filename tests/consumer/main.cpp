// consumer MODEL ORT EP_LIBRARY STORE: opens the model on the EP "fake_ep" and runs it once; prints the outcome.
#include <array>
#include <iostream>
#include <vector>

#include <precast/session.hpp>

namespace {

int complain(const precast::Error& error) {
  std::cerr << "consumer: " << precast::to_string(error.code) << ": " << error.message << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  precast::RuntimeOptions where;
  where.ort_library = argv[2];
  where.ep_libraries = {{"fake_ep", argv[3]}};
  auto runtime = precast::Runtime::load(where);
  if (!runtime) return complain(runtime.error());
  precast::CacheOptions store;
  store.root = argv[4];
  store.strict = true;
  auto cache = precast::CompileCache::open(*runtime, store);
  if (!cache) return complain(cache.error());
  precast::CompileOptions options;
  options.ep = "fake_ep";
  precast::Session session(*cache, argv[1], options);
  if (auto opened = session.open(); !opened) return complain(opened.error());

  std::vector<float> numbers(8, 0.5F);
  const std::array<std::int64_t, 2> shape{1, 8};
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  precast::Tensors inputs;
  inputs.emplace(session.inputs().front().name,
                 Ort::Value::CreateTensor<float>(memory, numbers.data(), numbers.size(), shape.data(), shape.size()));
  auto outputs = session.run(inputs);
  if (!outputs) return complain(outputs.error());
  std::cout << precast::to_string(*session.outcome()) << ' '
            << outputs->begin()->second.GetTensorTypeAndShapeInfo().GetElementCount() << '\n';
  return 0;
}
