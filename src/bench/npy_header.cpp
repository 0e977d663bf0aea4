#include "bench/npy_header.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "util/try.hpp"

namespace precast::bench {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLongestOfVersion1 = 0xFFFF;
// NumPy's own are of some hundred bytes; a claim past this is not worth the memory.
constexpr std::uint64_t kLongestHeader = std::uint64_t{1} << 20U;
constexpr std::string_view kCutOff = "ends inside its header: it is truncated";

std::string little_endian(std::uint64_t value, unsigned bytes) {
  std::string text;
  for (unsigned i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFFU);
  return text;
}

std::uint64_t from_little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Shorter than `size` only at the end of the source. For sizes that were checked.
Result<std::string> read_text(ByteSource& source, std::size_t size) {
  std::string text(size, '\0');
  PRECAST_TRY_ASSIGN(const std::size_t got, source.read(std::as_writable_bytes(std::span(text))));
  text.resize(got);
  return text;
}

// How many bytes the header's length takes.
Result<std::size_t> read_version(ByteSource& source) {
  PRECAST_TRY_ASSIGN(const std::string start, read_text(source, kMagic.size() + 2));
  if (!start.starts_with(kMagic.substr(0, std::min(start.size(), kMagic.size())))) {
    return bad(source.place(), "is not a NumPy array (.npy)", "write it with numpy.save or numpy.savez");
  }
  if (start.size() < kMagic.size() + 2) return damaged(source.place(), kCutOff);
  const unsigned major = static_cast<unsigned char>(start[kMagic.size()]);
  const unsigned minor = static_cast<unsigned char>(start[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    return bad(source.place(), fmt::format("is of NumPy's format {}.{}; 1.0, 2.0 and 3.0 are known", major, minor),
               "save it again with a NumPy that writes one of these");
  }
  return major == 1 ? 2U : 4U;
}

std::string tuple_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (const std::int64_t size : shape) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", size);
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

Result<NpyHeader> read_npy_header(ByteSource& source) {
  PRECAST_TRY_ASSIGN(const std::size_t length_bytes, read_version(source));
  PRECAST_TRY_ASSIGN(const std::string length_text, read_text(source, length_bytes));
  if (length_text.size() < length_bytes) return damaged(source.place(), kCutOff);
  const std::uint64_t length = from_little_endian(length_text);
  if (length > kLongestHeader) {
    return damaged(source.place(), fmt::format("claims a header of {} bytes, more than any array has", length));
  }
  PRECAST_TRY_ASSIGN(const std::string dict, read_text(source, static_cast<std::size_t>(length)));
  if (dict.size() < length) return damaged(source.place(), kCutOff);
  return parse_npy_dict(dict, source.place());
}

std::string format_npy_header(std::string_view descr, std::span<const std::int64_t> shape) {
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, tuple_text(shape));
  const auto padded = [&](std::size_t length_bytes) {
    const std::size_t unpadded = kMagic.size() + 2 + length_bytes + dict.size() + 1;
    return dict.size() + 1 + (kAlignment - unpadded % kAlignment) % kAlignment;
  };
  const bool version_1 = padded(2) <= kLongestOfVersion1;
  const unsigned length_bytes = version_1 ? 2 : 4;
  const std::size_t length = padded(length_bytes);
  dict.resize(length - 1, ' ');
  std::string header(kMagic);
  header += version_1 ? '\1' : '\2';
  header += '\0';
  return header + little_endian(length, length_bytes) + dict + '\n';
}

}  // namespace precast::bench
