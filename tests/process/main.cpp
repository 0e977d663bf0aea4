// The test program is also the child that its tests start: `process_test --helper NAME [ARGUMENTS...]`.
#include <string_view>

#include <gmock/gmock.h>

#include "process/support.hpp"

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "--helper") {
    return precast::process::testing::run_helper({argv + 2, argv + argc});
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
