#include "util/cancel.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace precast::util {
namespace {

bool readable(const CancelToken& token, int timeout_ms) {
  pollfd wanted = {token.descriptor(), POLLIN, 0};
  return poll(&wanted, 1, timeout_ms) == 1 && (wanted.revents & POLLIN) != 0;
}

CancelToken* g_token = nullptr;

TEST(CancelToken, is_readable_once_cancelled_and_stays_so) {
  CancelToken token;
  ASSERT_GE(token.descriptor(), 0);
  EXPECT_FALSE(token.cancelled());
  EXPECT_FALSE(readable(token, 0));
  token.cancel();
  token.cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_TRUE(readable(token, 0));
  EXPECT_TRUE(readable(token, 0));
}

TEST(CancelToken, wakes_another_thread) {
  CancelToken token;
  std::thread canceller([&token] { token.cancel(); });
  EXPECT_TRUE(readable(token, 10'000));
  EXPECT_TRUE(token.cancelled());
  canceller.join();
}

TEST(CancelToken, works_from_a_signal_handler_and_keeps_errno) {
  CancelToken token;
  g_token = &token;
  const std::uint64_t almost_full = ~std::uint64_t{0} - 1;  // so that the handler's own write fails with EAGAIN
  ASSERT_EQ(write(token.descriptor(), &almost_full, sizeof almost_full), static_cast<ssize_t>(sizeof almost_full));
  const auto previous = std::signal(SIGUSR1, [](int) { g_token->cancel(); });
  errno = EDOM;
  ASSERT_EQ(std::raise(SIGUSR1), 0);
  EXPECT_EQ(errno, EDOM);
  EXPECT_TRUE(token.cancelled());
  (void)std::signal(SIGUSR1, previous);
}

TEST(CancelToken, is_not_inherited_by_programs) {
  const CancelToken token;
  EXPECT_NE(fcntl(token.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

}  // namespace
}  // namespace precast::util
