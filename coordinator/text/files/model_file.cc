#include "coordinator/text/files/model_file.h"

#include <cstdint>
#include <fstream>
#include <system_error>

#include "proto/base/error.h"

namespace scorecast::coordinator {

using proto::StartupError;

namespace {
constexpr std::uintmax_t kMaxBytes = std::uintmax_t{512} << 20;
}

bool ModelFileExists(const std::filesystem::path& file) {
  std::error_code error;
  const bool exists = std::filesystem::exists(file, error);
  if (error) {
    throw StartupError(file.string() + ": " + error.message());
  }
  return exists;
}

std::string ReadModelFile(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) {
    throw StartupError(file.string() + ": " + error.message());
  }
  if (size > kMaxBytes) {
    throw StartupError(file.string() + ": " + std::to_string(size) + " bytes, more than " +
                       std::to_string(kMaxBytes));
  }
  std::ifstream stream(file, std::ios::binary);
  std::string text(size, '\0');
  if (!stream.read(text.data(), static_cast<std::streamsize>(size))) {
    throw StartupError(file.string() + ": cannot be read");
  }
  return text;
}

}  // namespace scorecast::coordinator
