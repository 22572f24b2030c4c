// Signals that do not end a service: SIGUSR2, which makes it log its status, and those that come
// after it has drained, which do not change its exit code.

#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/e2e/eventually.h"
#include "tests/e2e/models.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace serve_signals_test {

using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(ServeStatus, IsLoggedOnASignal) {
  Service service(NumberedCommand(2));
  const auto client = service.Connect();
  client->Send(NumberedRequest(0));
  client->Receive();
  kill(service.process().pid(), SIGUSR2);  // mpirun forwards it to every rank.
  EXPECT_THAT(service.process().ErrorLineWith("info status: "), HasSubstr("status: 1 pass done"));
  EXPECT_THAT(service.process().ErrorLineWith("info status: 1 connection "),
              HasSubstr("from 1 address, 0 requests in flight"));
  // The ranks also count the passes of the calibration.
  const std::string calibration = service.process().ErrorLineWith("info calibration: ");
  const int passes = std::stoi(calibration.substr(calibration.find(": ") + 2));
  EXPECT_GE(passes, 2);
  EXPECT_THAT(service.process().ErrorLineWith("info status: rank 0"),
              HasSubstr(": idle, pass " + std::to_string(passes + 1) + ","));
  EXPECT_THAT(service.process().ErrorLineWith("predictions are off by"), HasSubstr("bound 200 ms"));
  EXPECT_NE(service.process().ErrorLineWith("info status: rank 1"), "");
  client->Send(NumberedRequest(1));
  client->Receive();
  const ProcessResult result = service.Drain();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, Not(HasSubstr("debug")));
}

TEST(ServeStatus, SignalsBeforeAServiceIsReadyAreHarmless) {
  Process process(ScorecastCommand(
      {"serve", "--model", NumberedCommand(0).model.string(), "--port", "0", "--http-port", "-1"}));
  ASSERT_TRUE(Eventually([&] { return Catches(process.pid(), SIGUSR2); }));
  kill(process.pid(), SIGUSR2);
  EXPECT_NE(process.ErrorLineWith("ready"), "");
  EXPECT_NE(process.ErrorLineWith("info status: rank 0"), "");
  kill(process.pid(), SIGUSR1);
  EXPECT_EQ(process.Wait().exit_code, 0);
}

}  // namespace serve_signals_test
}  // namespace scorecast::testing
