#include "store/memo_rules.hpp"

#include <gtest/gtest.h>

#include "util/sha256.hpp"

namespace precast::store {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kChanged = 1'700'000'000'123'456'789;
const std::string kBoot = "11111111-2222-4333-8444-555555555555";

Observation observed(std::chrono::nanoseconds age, std::int64_t ctime_ns = kChanged) {
  Observation seen;
  seen.stat.kind = fs::FileKind::regular;
  seen.stat.device = 1;
  seen.stat.inode = 2;
  seen.stat.size = 3;
  seen.stat.mtime_ns = 4;
  seen.stat.ctime_ns = ctime_ns;
  seen.stat.mount_id = 77;
  seen.trust = CtimeTrust::always;
  seen.clock = util::WallTime(std::chrono::nanoseconds(ctime_ns) + age);
  return seen;
}

TEST(MemoRules, WhatChangedLessThan20MillisecondsAgoIsNotRemembered) {
  EXPECT_FALSE(entry_for(observed(20ms - 1ns), kBoot));
  EXPECT_TRUE(entry_for(observed(20ms), kBoot));
}

TEST(MemoRules, WithoutNanosecondsTheMarginIsTwoSeconds) {
  const std::int64_t whole = 1'700'000'000'000'000'000;
  EXPECT_FALSE(entry_for(observed(2s - 1ns, whole), kBoot));
  EXPECT_TRUE(entry_for(observed(2s, whole), kBoot));
}

TEST(MemoRules, ACtimeInTheFutureIsNotRemembered) {
  EXPECT_FALSE(entry_for(observed(-1ns), kBoot));
  EXPECT_FALSE(entry_for(observed(-24h), kBoot));
}

TEST(MemoRules, WhatIsYoungerThanAMinuteHoldsForThisBootOnly) {
  EXPECT_EQ(entry_for(observed(60s - 1ns), kBoot)->boot, kBoot);
  EXPECT_EQ(entry_for(observed(60s), kBoot)->boot, "");
  EXPECT_FALSE(entry_for(observed(59s), ""));
}

TEST(MemoRules, WithoutNanosecondsItHoldsForThisBootAndMountOnly) {
  const auto entry = entry_for(observed(24h, 1'700'000'000'000'000'000), kBoot);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->boot, kBoot);
  EXPECT_EQ(entry->mount, 77U);
}

TEST(MemoRules, OnABoundVolumeItHoldsForThisBootAndMountOnly) {
  Observation seen = observed(24h);
  seen.trust = CtimeTrust::this_mount;
  const auto entry = entry_for(seen, kBoot);
  ASSERT_TRUE(entry);
  EXPECT_TRUE(still_holds(*entry, seen.stat, seen.trust, kBoot));
  EXPECT_FALSE(still_holds(*entry, seen.stat, seen.trust, "22222222-2222-4333-8444-555555555555"));
  seen.stat.mount_id = 78;
  EXPECT_FALSE(still_holds(*entry, seen.stat, seen.trust, kBoot));
  seen.stat.mount_id = 0;
  EXPECT_FALSE(entry_for(seen, kBoot));
}

TEST(MemoRules, AnUnboundEntryDoesNotServeABoundVolume) {
  const Observation seen = observed(24h);
  const auto entry = entry_for(seen, kBoot);
  EXPECT_TRUE(still_holds(*entry, seen.stat, CtimeTrust::always, "another boot"));
  EXPECT_FALSE(still_holds(*entry, seen.stat, CtimeTrust::this_mount, kBoot));
  EXPECT_FALSE(still_holds(*entry, seen.stat, CtimeTrust::never, kBoot));
}

TEST(MemoRules, AnyDifferenceInTheStatEndsIt) {
  const Observation seen = observed(24h);
  const auto entry = entry_for(seen, kBoot);
  for (const auto field : {&fs::FileStat::device, &fs::FileStat::inode, &fs::FileStat::size}) {
    fs::FileStat other = seen.stat;
    ++(other.*field);
    EXPECT_FALSE(still_holds(*entry, other, CtimeTrust::always, kBoot));
  }
  for (const auto field : {&fs::FileStat::mtime_ns, &fs::FileStat::ctime_ns}) {
    fs::FileStat other = seen.stat;
    ++(other.*field);
    EXPECT_FALSE(still_holds(*entry, other, CtimeTrust::always, kBoot));
  }
}

TEST(MemoRules, WhatSomebodyWritesOrCannotBeTrustedIsNotRemembered) {
  Observation seen = observed(24h);
  seen.writable = true;
  EXPECT_FALSE(entry_for(seen, kBoot));
  seen = observed(24h);
  seen.trust = CtimeTrust::never;
  EXPECT_FALSE(entry_for(seen, kBoot));
}

TEST(MemoRules, AGroupKeepsItsNewestAndDropsWhatIsOutdated) {
  std::vector<MemoEntry> entries;
  for (std::uint64_t i = 0; i < 10; ++i) {
    insert_entry(entries, {.path = std::to_string(i), .inode = i}, 4);
  }
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries.front().path, "6");
  EXPECT_EQ(entries.back().path, "9");
  insert_entry(entries, {.path = "7", .inode = 100}, 4);  // another file under the same path
  insert_entry(entries, {.path = "x", .inode = 8}, 4);    // the same file under another path
  std::vector<std::string> paths;
  paths.reserve(entries.size());
  for (const MemoEntry& entry : entries) paths.push_back(entry.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"6", "9", "7", "x"}));
}

TEST(MemoGroup, ComesBackAsItWas) {
  const std::string group = util::sha256_hex("g");
  const std::vector<MemoEntry> entries = {{.path = util::sha256_hex("/a"),
                                           .device = UINT64_MAX,
                                           .inode = 2,
                                           .size = 3,
                                           .mtime_ns = -5,
                                           .ctime_ns = INT64_MAX,
                                           .sha256 = util::sha256_hex("b"),
                                           .boot = kBoot,
                                           .mount = UINT64_MAX},
                                          {.path = util::sha256_hex("/c"), .sha256 = util::sha256_hex("d")}};
  const std::string text = serialize_group(group, entries);
  EXPECT_EQ(parse_group(group, text), entries);
  EXPECT_TRUE(parse_group(util::sha256_hex("h"), text).empty());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_TRUE(parse_group(group, std::string_view(text).substr(0, length)).empty()) << length;
  }
}

TEST(MemoGroup, NoChangedByteChangesADigest) {
  const std::string group = util::sha256_hex("g");
  const std::vector<MemoEntry> entries = {
      {.path = util::sha256_hex("/a"), .device = 1, .inode = 2, .size = 3, .sha256 = util::sha256_hex("b")}};
  const std::string text = serialize_group(group, entries);
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char flip : {'\x01', '\x02', '\x04', '\x10'}) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ flip);
      for (const MemoEntry& entry : parse_group(group, other)) EXPECT_EQ(entry, entries[0]) << at;
    }
  }
}

TEST(MemoGroup, OneDamagedEntryLosesOnlyItself) {
  const std::string group = util::sha256_hex("g");
  const std::vector<MemoEntry> entries = {{.path = "a", .inode = 1234, .sha256 = util::sha256_hex("a")},
                                          {.path = "b", .inode = 5678, .sha256 = util::sha256_hex("b")}};
  std::string text = serialize_group(group, entries);
  text.replace(text.find("1234"), 4, "1235");
  const auto left = parse_group(group, text);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0], entries[1]);
}

TEST(Volumes, OnlyKnownFileSystemsAreTrusted) {
  const auto trust = [](std::uint64_t magic, bool read_only = false) {
    return ctime_trust({.magic = magic, .read_only = read_only});
  };
  for (const std::uint64_t magic : {0xEF53UL, 0x58465342UL, 0x9123683EUL}) {
    EXPECT_EQ(trust(magic), CtimeTrust::always);
    EXPECT_EQ(trust(magic, true), CtimeTrust::this_mount);
  }
  EXPECT_EQ(trust(0x794C7630), CtimeTrust::this_mount);        // overlayfs
  EXPECT_EQ(trust(0x73717368, true), CtimeTrust::this_mount);  // squashfs
  // tmpfs, NFS, FUSE, CIFS, 9P, something new
  for (const std::uint64_t magic : {0x01021994UL, 0x6969UL, 0x65735546UL, 0xFF534D42UL, 0x01021997UL, 0x12345UL}) {
    EXPECT_EQ(trust(magic), CtimeTrust::never);
    EXPECT_EQ(trust(magic, true), CtimeTrust::never);
  }
  EXPECT_TRUE(is_network_or_fuse({.magic = 0x6969}));
  EXPECT_TRUE(is_network_or_fuse({.magic = 0x65735546}));
  EXPECT_FALSE(is_network_or_fuse({.magic = 0xEF53}));
  EXPECT_FALSE(is_network_or_fuse({.magic = 0x01021994}));
}

}  // namespace
}  // namespace precast::store
