#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "launcher/address/service_address.h"

namespace scorecast::launcher {

/// The file in which a service says where it can be reached. A copy of this object stands for the
/// same file.
class AddressFile {
 public:
  /// Makes sure that the file can be written later, and removes one that a killed service has left.
  /// Called when the service has its ports, before the model is read. A file with these ports of
  /// this host stays: its service is being started again, and its clients may wait for that. Throws
  /// StartupError.
  static void Prepare(const std::filesystem::path& path, const ServiceAddress& own);

  /// Replaces the file, so that a reader sees the old or the new one whole. Throws StartupError.
  static AddressFile Write(const std::filesystem::path& path, const ServiceAddress& address);

  /// The file that another process has written; nothing if there is none.
  static std::optional<AddressFile> Find(const std::filesystem::path& path);

  /// Removes the file, unless it is gone or has other contents now: those of another service. May
  /// be called on any thread.
  void Remove() const;
  /// Calls Remove if this process ends by returning from main, std::exit or std::quick_exit. To be
  /// called once in a process.
  void RemoveAtExit() const;

  /// Absolute.
  const std::filesystem::path& path() const { return path_; }

 private:
  AddressFile(std::filesystem::path path, std::string contents)
      : path_(std::move(path)), contents_(std::move(contents)) {}

  std::filesystem::path path_;
  std::string contents_;
};

}  // namespace scorecast::launcher
