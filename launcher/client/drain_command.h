#pragma once

#include <filesystem>
#include <string>

#include "launcher/client/client_command.h"

namespace scorecast::launcher {

struct DrainFlags : ServerFlags {
  std::string replica;              ///< Its name in the front's list.
  std::filesystem::path front_key;  ///< See ReadFrontKey.
};

/// Lets a front send a replica no further requests, and returns when the replica has replied to
/// those that it has. Returns the exit code: 1 if the front refuses. Throws std::runtime_error,
/// with a message of one line, if no reply comes in time.
int RunDrainCommand(const DrainFlags& flags);
/// Lets a front send a replica requests again. Returns and throws as RunDrainCommand does.
int RunUndrainCommand(const DrainFlags& flags);

}  // namespace scorecast::launcher
