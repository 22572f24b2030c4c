#pragma once

#include <filesystem>
#include <string>

namespace scorecast::coordinator {

/// Whether `file` exists. A link whose target is gone does, and cannot be read. Throws StartupError
/// if that cannot be determined.
bool ModelFileExists(const std::filesystem::path& file);

/// Reads a whole file of the model's directory. Throws StartupError, one line that names the file,
/// if it is not a regular file, cannot be read, or has more than 512 MiB, which no tokenizer has.
std::string ReadModelFile(const std::filesystem::path& file);

}  // namespace scorecast::coordinator
