#include "coordinator/transports/batch/files/compression.h"

#include <cstddef>

namespace scorecast::coordinator {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kGzipMagic = "\x1F\x8B"sv;
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD"sv;
/// Of a skippable frame of zstd, behind its first byte. Some programs begin a file with one.
constexpr std::string_view kSkippableMagic = "\x2A\x4D\x18"sv;

bool IsSkippable(char byte) { return (static_cast<unsigned char>(byte) & 0xF0U) == 0x50U; }

}  // namespace

Compression CompressionOfName(const std::filesystem::path& path) {
  if (path.extension() == ".gz") {
    return Compression::kGzip;
  }
  return path.extension() == ".zst" ? Compression::kZstd : Compression::kNone;
}

std::optional<Compression> CompressionOfBytes(std::string_view first_bytes) {
  bool may_be_more = false;
  const auto begins_with = [&](std::string_view bytes, std::string_view magic) {
    may_be_more = may_be_more || (bytes.size() < magic.size() && magic.starts_with(bytes));
    return bytes.starts_with(magic);
  };
  if (begins_with(first_bytes, kGzipMagic)) {
    return Compression::kGzip;
  }
  if (begins_with(first_bytes, kZstdMagic) ||
      (!first_bytes.empty() && IsSkippable(first_bytes.front()) &&
       begins_with(first_bytes.substr(1), kSkippableMagic))) {
    return Compression::kZstd;
  }
  return may_be_more ? std::nullopt : std::optional(Compression::kNone);
}

std::string_view NameOf(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return "gzip";
    case Compression::kZstd:
      return "zstd";
    case Compression::kNone:
      break;
  }
  return "plain";
}

}  // namespace scorecast::coordinator
