// Arbitrary bytes as a batch file: every line that is not blank gets one record, in order, unless
// the file is taken for a compressed one, and every record has one of the format's two forms.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/rerank/rerank_template.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/rerank/template_tokens.h"
#include "coordinator/transports/batch/batch.h"
#include "coordinator/transports/batch/files/compression.h"
#include "proto/base/check.h"
#include "proto/log/log.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/fake_tokenizer.h"
#include "tests/coordinator/transports/batch/stream_files.h"

namespace {

using nlohmann::json;
using scorecast::coordinator::Compression;
using scorecast::coordinator::CompressionOfBytes;
using scorecast::coordinator::FakeServer;
using scorecast::proto::Check;

scorecast::coordinator::ServerOptions OneByOne() {
  scorecast::coordinator::ServerOptions options;
  options.one_by_one = true;
  return options;
}

/// Reranks by logits of two ids of the server's own.
scorecast::coordinator::ServerOptions Reranking() {
  using scorecast::coordinator::Reranker;
  static const scorecast::coordinator::FakeTokenizer tokenizer({});
  const auto from = scorecast::coordinator::ParseRerankTemplate(
      "prompt: \"{query}-{document}?\"\ntrue: 11\nfalse: 22\nscore: true - false\n", "fuzz", "");
  std::string why_not;
  auto prompt = scorecast::coordinator::TemplateTokens::Make(from, tokenizer, why_not);
  Check(prompt.has_value(), "the template suits the tokenizer");
  scorecast::coordinator::ServerOptions options;
  options.reranker = std::make_shared<const Reranker>(Reranker::Parts{.name = "fuzz",
                                                                      .reason = "",
                                                                      .default_instruction = "",
                                                                      .prompt = std::move(prompt),
                                                                      .labels = {11, 22},
                                                                      .formula = from.formula});
  return options;
}

struct Servers {
  FakeServer sglang;
  FakeServer multi_item{scorecast::coordinator::WithChat()};
  FakeServer one_by_one{OneByOne()};
  FakeServer reranker{Reranking()};
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
    bool has_results = body.is_array();
    for (const char* const name : {"scores", "outputs", "choices", "results", "data", "rankings"}) {
      has_results = has_results || (body.contains(name) && body[name].is_array());
    }
    Check(has_results, "response");
    // DeepInfra's and Weaviate's `scores` have no usage, nor have lists.
    Check(!body.contains("usage") || body["usage"].is_object(), "usage");
  } else if (body.contains("error") && body["error"].is_object()) {  // As OpenAI's clients read it.
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
  if (CompressionOfBytes(bytes).value_or(Compression::kNone) != Compression::kNone) {
    return;  // The records are those of other lines.
  }

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
  RunOn(servers->reranker, bytes);
  return 0;
}
