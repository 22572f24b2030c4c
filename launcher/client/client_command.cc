#include "launcher/client/client_command.h"

#include <cstdio>
#include <sstream>
#include <stdexcept>

#include <google/protobuf/stubs/logging.h>

#include "launcher/client/retrying_call.h"
#include "launcher/client/server_location.h"

namespace scorecast::launcher {

v1::Response CallServer(const ClientFlags& flags, const v1::Request& request) {
  // Protobuf would log text that is not valid UTF-8, but the server refuses such text anyway.
  google::protobuf::SetLogHandler(nullptr);
  const ServerLocation location = flags.connect_file.empty()
                                      ? ServerLocation::At(flags.connect)
                                      : ServerLocation::InFile(flags.connect_file);
  try {
    return RetryingCall(location, request, {.timeout = flags.timeout});
  } catch (const TimedOut&) {
    std::ostringstream seconds;
    seconds << std::chrono::duration<double>(flags.timeout).count();
    throw std::runtime_error(location.Name() + " did not reply within --timeout " + seconds.str() +
                             " s");
  } catch (const ConnectionLost& fault) {
    if (flags.connect_file.empty() || !std::filesystem::exists(flags.connect_file)) {
      throw;
    }
    throw std::runtime_error(fault.what() + std::string("; this is the address of ") +
                             location.Name() + ", which may have been killed");
  }
}

int PrintRefusal(const v1::Error& error) {
  std::fprintf(stderr, "scorecast: %d %s: %s\n", error.code(), error.reason().c_str(),
               error.message().c_str());
  return 1;
}

void FlushOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::runtime_error("cannot write to standard output");
  }
}

}  // namespace scorecast::launcher
