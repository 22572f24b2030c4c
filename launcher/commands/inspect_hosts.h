#pragma once

#include "launcher/commands/commands.h"

namespace CLI {
class App;
}

namespace scorecast::launcher {

/// Adds --hosts and the flags that go with it.
void AddInspectHostsFlags(CLI::App& app, InspectHostsFlags& flags);

/// `inspect --hosts`: prints what each number of hosts computes with its best layout. Reads only
/// the model's config.json.
int RunInspectHosts(const InspectFlags& flags);

}  // namespace scorecast::launcher
