#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/request/server_options.h"
#include "coordinator/transports/batch/batch.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/transports/batch/stream_files.h"

namespace scorecast::coordinator {

/// A line that asks for scores.
inline std::string Line(const std::string& custom_id, const std::string& body) {
  return R"({"custom_id":")" + custom_id + R"(","method":"POST","url":"/v1/score","body":)" + body +
         "}\n";
}

inline std::string Body(int query, const std::string& more = "") {
  return R"({"query":[)" + std::to_string(query) + R"(,7],"items":[[1],[2,3]],)" +
         R"("label_token_ids":[5,6])" + more + "}";
}

struct BatchRun {
  BatchSummary summary;
  std::vector<nlohmann::json> lines;
};

inline BatchRun RunText(FakeServer& server, const std::string& input,
                        const BatchOptions& options = {},
                        std::int64_t max_line_bytes = kDefaultMaxRequestBytes) {
  std::istringstream in(input);
  std::ostringstream out;
  BatchRun run;
  run.summary = RunBatchOnStreams(in, out, server.service, options, max_line_bytes);
  server.scheduler.WaitIdle();
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) {
    run.lines.push_back(nlohmann::json::parse(line));
  }
  EXPECT_TRUE(out.str().empty() || out.str().back() == '\n');
  return run;
}

inline void ExpectErrorRecord(const nlohmann::json& record, const nlohmann::json& custom_id,
                              int code, const std::string& reason, int line) {
  EXPECT_EQ(record["custom_id"], custom_id) << record;
  EXPECT_TRUE(record["response"].is_null()) << record;
  EXPECT_EQ(record["error"]["code"], code) << record;
  EXPECT_EQ(record["error"]["reason"], reason) << record;
  EXPECT_EQ(record["error"]["line"], line) << record;
  EXPECT_TRUE(record["error"]["message"].is_string());
}

}  // namespace scorecast::coordinator
