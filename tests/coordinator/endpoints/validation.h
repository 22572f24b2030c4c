#pragma once

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/json/body_members.h"
#include "coordinator/json/json_text.h"
#include "coordinator/request/request_context.h"
#include "coordinator/request/value_limit.h"
#include "proto/base/expected.h"
#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {

inline constexpr TokenId kDelimiter = 256;
inline constexpr TokenId kYes = 257;
inline constexpr TokenId kNo = 258;
inline constexpr TokenId kBos = 259;

/// What requests are checked against. Each test changes its own.
struct CheckingServer {
  CheckingServer() {
    config_.vocab_size = 300;
    config_.max_position_embeddings = 64;
  }

  RequestContext context() const { return {config_, tokenizer_, options_, limits_}; }

  proto::ModelConfig config_;
  ServerOptions options_;
  proto::PlanLimits limits_{
      .max_rows = 128, .max_reads = 256, .pass_kv_rows = 4096, .kept_kv_rows = 4096};
  FakeTokenizer with_bos_{{{"<d>", kDelimiter}, {" yes", kYes}, {" no", kNo}, {"<x>", 400}}, kBos};
  const FakeTokenizer without_bos_{{{"<d>", kDelimiter}, {" yes", kYes}, {" no", kNo}}};
  const Tokenizer* tokenizer_ = &with_bos_;
};

/// Prepares a request, or passes its fault on.
inline proto::Expected<PreparedRequest> PrepareParsed(ParsedRequest request,
                                                      const RequestContext& context) {
  if (!request) {
    return proto::Unexpected(request.error());
  }
  return std::move(**request).Prepare(context, {});
}

/// Parses and prepares the request of a body.
inline proto::Expected<PreparedRequest> PrepareBody(const Endpoint& endpoint,
                                                    const std::string& body,
                                                    const RequestContext& context) {
  auto json = ParseJson(body, MaxValues(context.config, context.options));
  if (!json) {
    return proto::Unexpected(json.error());
  }
  return PrepareParsed(endpoint.FromJson(*std::move(json)), context);
}

/// `Server` has a Prepare(body).
template <typename Server>
class ValidationTest : public ::testing::Test {
 protected:
  static void ExpectRefused(const Server& server, const std::string& body,
                            const std::string& reason, const std::string& param,
                            const std::string& message = "") {
    SCOPED_TRACE(body);
    const auto prepared = server.Prepare(body);
    ASSERT_FALSE(prepared.has_value());
    EXPECT_EQ(prepared.error().code, 400);
    EXPECT_EQ(prepared.error().reason, reason) << prepared.error().message;
    EXPECT_EQ(prepared.error().param, param);
    EXPECT_THAT(prepared.error().message, ::testing::HasSubstr(message));
  }

  static void ExpectAccepted(const Server& server, const std::string& body) {
    SCOPED_TRACE(body);
    const auto prepared = server.Prepare(body);
    EXPECT_TRUE(prepared.has_value()) << prepared.error().message;
  }
};

}  // namespace scorecast::coordinator
