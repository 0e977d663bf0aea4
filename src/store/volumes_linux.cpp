#include <algorithm>
#include <array>

#include "store/volumes.hpp"

namespace precast::store {
namespace {

// statfs(2), linux/magic.h and the file systems' own headers.
constexpr std::uint64_t kExt = 0xEF53;
constexpr std::uint64_t kXfs = 0x58465342;
constexpr std::uint64_t kBtrfs = 0x9123683E;
constexpr std::uint64_t kOverlay = 0x794C7630;
constexpr std::uint64_t kSquash = 0x73717368;
constexpr std::uint64_t kErofs = 0xE0F5E1E2;
constexpr std::uint64_t kIso9660 = 0x9660;

constexpr std::array<std::uint64_t, 18> kNetworkOrFuse = {
    0x6969,      // NFS
    0x517B,      // SMB
    0xFE534D42,  // SMB 2
    0xFF534D42,  // CIFS
    0x65735546,  // FUSE
    0x00C36400,  // Ceph
    0x5346414F,  // AFS
    0x6B414653,  // kAFS
    0x01021997,  // 9P
    0x73757245,  // Coda
    0x7461636F,  // OCFS2
    0x01161970,  // GFS2
    0x0BD00BD0,  // Lustre
    0x47504653,  // GPFS
    0x564C,      // NCP
    0x786F4256,  // VirtualBox shared folders
    0x19830326,  // BeeGFS
    0xAAD7AAEA,  // PanFS
};

}  // namespace

CtimeTrust ctime_trust(const fs::FileSystem::Volume& volume) {
  switch (volume.magic) {
    case kExt:
    case kXfs:
    case kBtrfs:
      return volume.read_only ? CtimeTrust::this_mount : CtimeTrust::always;
    case kOverlay:
    case kSquash:  // images are never written, but another one may answer alike
    case kErofs:
    case kIso9660:
      return CtimeTrust::this_mount;
    // A read-only mount of anything else may be somebody's writable one elsewhere (NFS, a bind mount of a tmpfs).
    default:
      return CtimeTrust::never;
  }
}

bool is_network_or_fuse(const fs::FileSystem::Volume& volume) {
  return std::ranges::find(kNetworkOrFuse, volume.magic) != kNetworkOrFuse.end();
}

}  // namespace precast::store
