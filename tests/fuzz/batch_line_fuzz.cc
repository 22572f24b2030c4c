// Arbitrary bytes as a batch file: every line that is not blank gets one record, in order, and
// every record has one of the format's two forms.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "coordinator/transports/batch/batch.h"
#include "proto/base/check.h"
#include "proto/log/log.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/transports/batch/stream_files.h"

namespace {

using nlohmann::json;
using scorecast::coordinator::FakeServer;
using scorecast::proto::Check;

scorecast::coordinator::ServerOptions OneByOne() {
  scorecast::coordinator::ServerOptions options;
  options.one_by_one = true;
  return options;
}

struct Servers {
  FakeServer sglang;
  FakeServer multi_item{scorecast::coordinator::WithChat()};
  FakeServer one_by_one{OneByOne()};
};

void CheckRecord(const json& record) {
  Check(record.contains("custom_id"), "custom_id");
  if (record.at("response").is_null()) {
    const json& error = record.at("error");
    Check(error.at("code").is_number() && error.at("message").is_string(), "error record");
    Check(error.at("line").is_number(), "line");
    return;
  }
  Check(record.at("custom_id").is_string() && record.at("error").is_null(), "response record");
  const json& response = record.at("response");
  const json& body = response.at("body");
  if (response.at("status_code") == 200) {
    bool has_results = false;
    for (const char* const name : {"scores", "outputs", "choices"}) {
      has_results = has_results || (body.contains(name) && body[name].is_array());
    }
    Check(has_results && body.at("usage").is_object(), "response");
  } else if (body.contains("error")) {  // As clients of OpenAI read it.
    Check(body["error"].at("message").is_string(), "message");
  } else {
    Check(body.at("code") == response.at("status_code"), "code");
    Check(!body.at("reason").get<std::string>().empty(), "reason");
  }
}

void RunOn(FakeServer& server, const std::string& bytes) {
  std::istringstream in(bytes);
  std::ostringstream out;
  const auto summary = scorecast::coordinator::RunBatchOnStreams(in, out, server.service, {}, 4096);
  server.scheduler.WaitIdle();
  server.cluster.ForgetPlans();
  std::istringstream lines(out.str());
  std::int64_t records = 0;
  for (std::string line; std::getline(lines, line); ++records) {
    CheckRecord(json::parse(line));
  }
  Check(records == summary.end.records(), "a record a line");

  std::int64_t expected = 0;
  std::istringstream input(bytes);
  for (std::string line; std::getline(input, line);) {
    expected += line.size() > 4096 || line.find_first_not_of(" \t\r") != std::string::npos;
  }
  Check(records == expected, "a line a record");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Servers* const servers = [] {
    scorecast::proto::StartLog("off");
    return new Servers;
  }();
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  RunOn(servers->sglang, bytes);
  RunOn(servers->multi_item, bytes);
  RunOn(servers->one_by_one, bytes);
  return 0;
}
