#pragma once

#include <filesystem>
#include <string>

namespace scorecast::coordinator {

/// Whether `file` exists. A link exists even if its target does not; then it cannot be read. Throws
/// StartupError if that cannot be determined.
bool ModelFileExists(const std::filesystem::path& file);

/// Reads a whole file of the model's directory. Throws StartupError, one line that names the file,
/// if it is not a regular file, cannot be read, or has more than 512 MiB (no tokenizer has that
/// many).
std::string ReadModelFile(const std::filesystem::path& file);

}  // namespace scorecast::coordinator
