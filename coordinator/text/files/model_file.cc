#include "coordinator/text/files/model_file.h"

#include <cstdint>

#include "proto/base/regular_file.h"

namespace scorecast::coordinator {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{512} << 20;

}  // namespace

bool ModelFileExists(const std::filesystem::path& file) { return proto::FileExists(file); }

std::string ReadModelFile(const std::filesystem::path& file) {
  return proto::ReadRegularFile(file, kMaxBytes);
}

}  // namespace scorecast::coordinator
