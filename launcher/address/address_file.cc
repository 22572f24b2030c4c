#include "launcher/address/address_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

#include <unistd.h>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/replace_file.h"

namespace scorecast::launcher {
namespace {

/// The file for which RemoveAtExit was called. Never destroyed, because threads run until the very
/// end.
const AddressFile* removed_at_exit = nullptr;

void RemoveNow() { removed_at_exit->Remove(); }

[[noreturn]] void ThrowFault(const std::filesystem::path& path, const std::string& reason) {
  throw proto::StartupError("--address-file " + proto::OneLinePath(path.string()) + ": " + reason);
}

std::optional<std::string> Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return std::nullopt;
  }
  return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

void AddressFile::Prepare(const std::filesystem::path& path, const ServiceAddress& own) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    ThrowFault(path, "it is not a regular file");
  }
  const std::filesystem::path parent = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(parent, error)) {
    ThrowFault(path, "its directory does not exist");
  }
  if (access(parent.c_str(), W_OK | X_OK) != 0) {
    ThrowFault(path, std::string("its directory: ") + std::strerror(errno));
  }
  if (const std::optional<std::string> contents = Read(path)) {
    const std::optional<ServiceAddress> old = ServiceAddress::FromJson(*contents);
    const bool is_own =
        old && old->host == own.host && old->requests == own.requests && old->http == own.http;
    if (!is_own && !std::filesystem::remove(path, error) && error) {
      ThrowFault(path, error.message());
    }
  }
}

AddressFile AddressFile::Write(const std::filesystem::path& path, const ServiceAddress& address) {
  AddressFile file(std::filesystem::absolute(path), address.ToJson());
  try {
    proto::ReplaceFile(file.path_, file.contents_);
  } catch (const std::runtime_error& fault) {
    throw proto::StartupError(fault.what());
  }
  return file;
}

std::optional<AddressFile> AddressFile::Find(const std::filesystem::path& path) {
  std::optional<std::string> contents = Read(path);
  return contents ? std::optional(AddressFile(path, *std::move(contents))) : std::nullopt;
}

void AddressFile::Remove() const {
  if (Read(path_) == contents_) {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
}

void AddressFile::RemoveAtExit() const {
  removed_at_exit = new AddressFile(*this);
  std::atexit(RemoveNow);
  std::at_quick_exit(RemoveNow);
}

}  // namespace scorecast::launcher
