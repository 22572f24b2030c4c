#include "launcher/client/reload_command.h"

#include <cstdio>

#include "proto/base/count.h"

namespace scorecast::launcher {

int RunReloadCommand(const ServerFlags& flags) {
  v1::Request request;
  request.mutable_reload();
  const v1::Response response = CallServer(flags, request);
  if (!response.has_reloaded()) {
    return PrintRefusal(response.error());
  }
  const v1::Reloaded& reloaded = response.reloaded();
  std::printf("%s, %u new, %u revoked\n", proto::Count(reloaded.keys(), "key").c_str(),
              reloaded.added(), reloaded.revoked());
  FlushOutput();
  return 0;
}

}  // namespace scorecast::launcher
