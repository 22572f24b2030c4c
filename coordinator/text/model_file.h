#pragma once

#include <filesystem>
#include <string>

namespace scorecast::coordinator {

/// Whether there is such a file. Throws StartupError where that cannot be found out.
bool ModelFileExists(const std::filesystem::path& file);

/// The whole of a file of the model's directory. Throws StartupError (one line that names it) where
/// it cannot be read or is larger than any tokenizer's (512 MiB).
std::string ReadModelFile(const std::filesystem::path& file);

}  // namespace scorecast::coordinator
