#pragma once

#include <filesystem>
#include <string_view>

namespace scorecast::proto {

/// Replaces a file, or makes it, so that readers and later runs see either the old contents or
/// `contents`, whole: also if this process is killed, the host loses power, or another process
/// replaces the file at the same time. If `path` is a symbolic link to a
/// file, that file is replaced.
///
/// The contents are written to `path` + ".new" first. Such a file that a killed process has left is
/// used again.
///
/// Throws std::runtime_error with one line, "cannot write PATH: …". The old file then stays.
void ReplaceFile(const std::filesystem::path& path, std::string_view contents);

}  // namespace scorecast::proto
