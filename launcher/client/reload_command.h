#pragma once

#include "launcher/client/client_command.h"

namespace scorecast::launcher {

/// Lets a server read its file of keys again, and prints what has changed. Returns the exit code: 1
/// if the server could not read it, and keeps its keys. Throws std::runtime_error, with a message
/// of one line, if no reply comes in time.
int RunReloadCommand(const ServerFlags& flags);

}  // namespace scorecast::launcher
