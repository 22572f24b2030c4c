#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launcher/address/service_address.h"

namespace scorecast::launcher {

/// The file in which a service says how clients reach it. Copies of this object stand for the same
/// file.
class AddressFile {
 public:
  /// Makes sure that the file can be written later, and removes a file that a killed service has
  /// left. Called when the service has its ports, before the model is read. If the file has these
  /// ports and this host, it stays: then the service is being started again, and its clients may be
  /// waiting for it. Throws StartupError.
  static void Prepare(const std::filesystem::path& path, const ServiceAddress& own);

  /// Replaces the file in such a way that a reader sees either the whole old or the whole new one.
  /// Throws StartupError.
  static AddressFile Write(const std::filesystem::path& path, const ServiceAddress& address);

  /// The file that another process has written; nothing if it does not exist.
  static std::optional<AddressFile> Find(const std::filesystem::path& path);

  /// Removes the file. Leaves it if another service has written it since. May be called on any
  /// thread.
  void Remove() const;
  /// Calls Remove if this process ends by returning from main, std::exit or std::quick_exit. To be
  /// called once in a process.
  void RemoveAtExit() const;

  /// An absolute path.
  const std::filesystem::path& path() const { return path_; }

 private:
  AddressFile(std::filesystem::path path, std::string contents)
      : path_(std::move(path)), contents_(std::move(contents)) {}

  std::filesystem::path path_;
  std::string contents_;
};

}  // namespace scorecast::launcher
