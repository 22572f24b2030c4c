#pragma once

#include <filesystem>
#include <string>

namespace scorecast::launcher {

/// Says where a client finds its server: at a fixed address, or at the address that is in the
/// server's `--address-file` at the moment.
class ServerLocation {
 public:
  /// `address`: HOST:PORT; HOST may be an IPv6 address in brackets.
  static ServerLocation At(std::string address) { return {std::move(address), {}}; }
  static ServerLocation InFile(std::filesystem::path file) { return {{}, std::move(file)}; }

  /// HOST:PORT of the request socket. The file is read anew each time, because a service that is
  /// started again may have another address. Throws ConnectionLost if there is no file, because the
  /// service may be about to write it. Throws std::runtime_error if the file is not an address
  /// file, or if only the server's own host can connect to the address. The messages are one line.
  std::string Address() const;

  /// For messages: "HOST:PORT" or "the service of FILE".
  std::string Name() const;

 private:
  ServerLocation(std::string address, std::filesystem::path file)
      : address_(std::move(address)), file_(std::move(file)) {}

  std::string address_;
  std::filesystem::path file_;  ///< Empty: `address_` counts.
};

}  // namespace scorecast::launcher
