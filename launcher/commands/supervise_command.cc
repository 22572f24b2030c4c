#include "launcher/commands/commands.h"
#include "launcher/supervisor/supervisor.h"
#include "launcher/supervisor/systemd_sockets.h"
#include "proto/base/error.h"

namespace scorecast::launcher {

int RunSuperviseCommand(const SuperviseFlags& flags) {
  if (flags.command.empty()) {
    throw proto::StartupError(
        "supervise needs the command to run behind --: scorecast supervise -- mpirun -n 2 "
        "scorecast serve --model DIR (see --help)");
  }
  RestartLimits limits;
  limits.max_restarts = flags.max_restarts;
  return Supervisor(flags.command, limits, TakeSystemdSockets()).Run();
}

}  // namespace scorecast::launcher
