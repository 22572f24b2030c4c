#pragma once

#include <filesystem>
#include <string>

namespace scorecast::launcher {

/// The key of a front: the first line of the file that --front-key names. Throws StartupError.
std::string ReadFrontKey(const std::filesystem::path& path);

}  // namespace scorecast::launcher
