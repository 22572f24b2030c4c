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

// What the functions above would throw, without waiting for the other end of a pipe, and without
// changing or making a file.
/// Throws StartupError if the file cannot be read.
void CheckReadable(const std::filesystem::path& path);
/// Throws StartupError if the file cannot be written, or cannot be made.
void CheckWritable(const std::filesystem::path& path);

}  // namespace scorecast::coordinator
