#include "launcher/client/client_command.h"

#include <cstdio>
#include <sstream>
#include <stdexcept>

#include <google/protobuf/stubs/logging.h>

#include "launcher/client/retrying_call.h"

namespace scorecast::launcher {

v1::Response CallServer(const ClientFlags& flags, const v1::Request& request) {
  // Protobuf would log text that is not valid UTF-8. The server refuses such text.
  google::protobuf::SetLogHandler(nullptr);
  try {
    return RetryingCall(flags.connect, request, {.timeout = flags.timeout});
  } catch (const TimedOut&) {
    std::ostringstream seconds;
    seconds << std::chrono::duration<double>(flags.timeout).count();
    throw std::runtime_error(flags.connect + " did not reply within --timeout " + seconds.str() +
                             " s");
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
