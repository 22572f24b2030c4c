#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace scorecast::coordinator {

enum class Compression { kNone, kGzip, kZstd };

/// What the end of a file's name says: `.gz`, `.zst`, or neither.
Compression CompressionOfName(const std::filesystem::path& path);

/// What the first bytes of a file say. Null if there must be more of them to tell.
std::optional<Compression> CompressionOfBytes(std::string_view first_bytes);

/// "gzip" or "zstd"; "plain" without compression.
std::string_view NameOf(Compression compression);

}  // namespace scorecast::coordinator
