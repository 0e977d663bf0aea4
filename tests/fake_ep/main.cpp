#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "host.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "--host") {
    return precast::fake_ep::test::host_main({arguments.begin() + 1, arguments.end()});
  }
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
