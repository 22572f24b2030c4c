// Signals that come after a service has drained do not change its exit code.

#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace serve_signals_test {

TEST(ServeSignals, AreHarmlessUpToTheEnd) {
  Command command =
      ScorecastCommand({"serve", "--model", MakeModel(""), "--port", "0", "--http-port", "-1"});
  // Standard error goes to standard output, which ReadLine reads line by line.
  command.arguments.insert(command.arguments.begin(), {"sh", "-c", R"(exec "$0" "$@" 2>&1)"});
  Process service(command);
  std::string line;
  do {
    line = service.ReadLine();
    ASSERT_NE(line, "");
  } while (line.find("ready: requests on ") == std::string::npos);
  while (IsRunning(service.pid())) {
    kill(service.pid(), SIGUSR1);
    usleep(200);
  }
  const ProcessResult result = service.Wait();
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 0);
}

}  // namespace serve_signals_test
}  // namespace scorecast::testing
