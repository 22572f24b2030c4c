#include "launcher/client/drain_command.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include "launcher/address/front_key.h"
#include "proto/base/count.h"

namespace scorecast::launcher {
namespace {

using std::chrono::steady_clock;

/// How often a front is asked what the replica has left.
constexpr auto kAskEvery = std::chrono::milliseconds(100);
constexpr auto kReportEvery = std::chrono::seconds(5);

v1::Request RequestOf(const DrainFlags& flags, bool undo) {
  v1::Request request;
  v1::Drain& drain = *request.mutable_drain();
  drain.set_front_key(ReadFrontKey(flags.front_key));
  drain.set_replica(flags.replica);
  drain.set_undo(undo);
  return request;
}

}  // namespace

int RunDrainCommand(const DrainFlags& flags) {
  const v1::Request request = RequestOf(flags, /*undo=*/false);
  auto report = steady_clock::now() + kReportEvery;
  while (true) {
    const v1::Response response = CallServer(flags, request);
    if (!response.has_drained()) {
      return PrintRefusal(response.error());
    }
    if (response.drained().requests() == 0) {
      break;
    }
    if (steady_clock::now() >= report) {
      std::fprintf(stderr, "%s has %s left\n", flags.replica.c_str(),
                   proto::Count(response.drained().requests(), "request").c_str());
      report += kReportEvery;
    }
    std::this_thread::sleep_for(kAskEvery);
  }
  std::printf("%s is drained\n", flags.replica.c_str());
  FlushOutput();
  return 0;
}

int RunUndrainCommand(const DrainFlags& flags) {
  const v1::Response response = CallServer(flags, RequestOf(flags, /*undo=*/true));
  if (!response.has_drained()) {
    return PrintRefusal(response.error());
  }
  std::printf("%s gets requests\n", flags.replica.c_str());
  FlushOutput();
  return 0;
}

}  // namespace scorecast::launcher
