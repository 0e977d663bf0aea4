#include "compile/worker_protocol.hpp"

#include <gmock/gmock.h>

#include "compile/mapped_libraries.hpp"

namespace precast::compile {
namespace {

WorkerRequest full_request() {
  WorkerRequest request;
  request.precast_version = "1.2.3";
  request.action = WorkerAction::open;
  request.ort_library = "/a/libonnxruntime.so";
  request.ep_name = "TestExecutionProvider";
  request.ep_source = "explicit";
  request.ep_library = std::string("/b/lib\xff.so");  // not UTF-8: a path is bytes
  request.device.ep_name = "TestExecutionProvider";
  request.device.device_class = ort::DeviceClass::npu;
  request.device.vendor_id = 1;
  request.device.device_id = 2;
  request.device.ep_metadata = {{"version", "7"}};
  request.provider_options = {{"k", "v"}};
  request.session_config = {{"s", "c"}};
  request.optimization_level = 2;
  request.free_dimensions = {{"batch", 4}};
  request.model = "/m/model.onnx";
  request.output = "/o/model.onnx";
  request.embed = true;
  return request;
}

TEST(WorkerProtocol, ARequestComesBackAsItWas) {
  const WorkerRequest before = full_request();
  const auto after = parse_request(serialize(before));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->action, before.action);
  EXPECT_EQ(after->ep_library, before.ep_library);
  EXPECT_EQ(after->device, before.device);
  EXPECT_EQ(after->provider_options, before.provider_options);
  EXPECT_EQ(after->session_config, before.session_config);
  EXPECT_EQ(after->optimization_level, before.optimization_level);
  EXPECT_EQ(after->free_dimensions, before.free_dimensions);
  EXPECT_EQ(after->embed, before.embed);
  EXPECT_EQ(serialize(*after), serialize(before));
}

TEST(WorkerProtocol, EveryEventComesBackAsItWas) {
  WorkerEvent event;
  event.kind = WorkerEventKind::ready;
  event.ms = 1.5;
  event.ort_version = "1.32.0";
  event.device = full_request().device;
  auto parsed = parse_event_line(serialize_line(event));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->device, event.device);
  EXPECT_EQ(parsed->ort_version, "1.32.0");

  event.kind = WorkerEventKind::done;
  event.libraries = {{"/x/y.so", 42}};
  parsed = parse_event_line(serialize_line(event));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->libraries, event.libraries);

  event.kind = WorkerEventKind::failed;
  event.code = ErrorCode::unsupported;
  event.message = "words \xff";
  parsed = parse_event_line(serialize_line(event));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->code, ErrorCode::unsupported);
  EXPECT_EQ(parsed->message, "words \\xff");
}

TEST(WorkerProtocol, AnythingElseIsAnErrorAndNoException) {
  for (const char* text :
       {"", "[]", "1", "{}", "{\"event\":\"other\",\"ms\":1}", "{\"event\":7}", "{\"event\":\"ready\"", "null"}) {
    EXPECT_FALSE(parse_event_line(text)) << text;
    EXPECT_FALSE(parse_request(text)) << text;
  }
}

TEST(MappedLibraries, OnlyCodeOutsideTheSystemsFoldersCounts) {
  const auto libraries = parse_maps(
      "5500-5600 r-xp 00000000 fe:00 10    /opt/precast/bin/precast-worker\n"
      "7000-7100 r--p 00000000 fe:00 11    /opt/ort/libonnxruntime.so.1.32.0\n"
      "7100-7200 r-xp 00001000 fe:00 11    /opt/ort/libonnxruntime.so.1.32.0\n"
      "7200-7300 r-xp 00001000 fe:00 12    /opt/with blank/lib ep.so\n"
      "7300-7400 r-xp 00001000 fe:00 13    /usr/lib/x86_64-linux-gnu/libc.so.6\n"
      "7400-7500 rw-p 00001000 fe:00 14    /opt/ort/data.bin\n"
      "7500-7600 r-xp 00000000 00:00 0     [vdso]\n"
      "7600-7700 rwxp 00000000 00:00 0 \n"
      "rubbish\n",
      "/opt/precast/bin/precast-worker");
  const std::vector<MappedLibrary> expected{{"/opt/ort/libonnxruntime.so.1.32.0", 11},
                                            {"/opt/with blank/lib ep.so", 12}};
  EXPECT_EQ(libraries, expected);
}

}  // namespace
}  // namespace precast::compile
