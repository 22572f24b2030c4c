#pragma once

#include <filesystem>
#include <memory>

#include "coordinator/transports/batch/files/byte_streams.h"

namespace scorecast::coordinator {

/// Opens a file to read it; "-" is standard input. Throws StartupError.
std::unique_ptr<ByteSource> OpenToRead(const std::filesystem::path& path);

/// Opens a file to write it, and makes it if there is none; "-" is standard output. A file keeps
/// what it has until CutTo. Throws StartupError.
std::unique_ptr<ByteSink> OpenToWrite(const std::filesystem::path& path);

}  // namespace scorecast::coordinator
