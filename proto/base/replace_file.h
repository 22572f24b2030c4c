#pragma once

#include <filesystem>
#include <string_view>

namespace scorecast::proto {

/// Replaces or makes a file so that readers and later runs see either all of the old contents or
/// all of `contents`. This holds even if this process is killed, the host loses power, or another
/// process replaces the file at the same time. If `path` is a symbolic link to a file, that file is
/// replaced.
///
/// The contents are first written to `path` + ".new". If a killed process has left such a file, it
/// is reused.
///
/// Throws std::runtime_error with one line, "cannot write PATH: …". The old file then stays.
void ReplaceFile(const std::filesystem::path& path, std::string_view contents);

}  // namespace scorecast::proto
