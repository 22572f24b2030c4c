#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/rerank/reranker.h"
#include "proto/plan/forward_plan.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {

/// All of a server but its engine. Its "model" hashes the tokens of a text, with BOS 259 and an end
/// of text, 0. A vector has 16 values.
struct EmbeddingServer : CheckingServer {
  static constexpr std::int64_t kSize = 16;

  EmbeddingServer() {
    config_.architecture = "BertModel";
    config_.hidden_size = kSize;
    config_.read_head.emplace();
    config_.read_head->pooling = {proto::Pooling::kMean};
    config_.read_head->output_size = kSize;
    options_.reranker = std::make_shared<const Reranker>(
        Reranker::Parts{.name = "cosine", .reason = "a test"});
    proto::SetModelLimits(config_, /*ranks=*/1, limits_);
  }

  /// The vector that the "model" makes of the rows that a read pools.
  std::vector<float> VectorOf(const std::vector<TokenId>& ids, std::int32_t first_row = 0,
                              bool keeps_length = false) const {
    std::vector<float> vector;
    for (std::int64_t i = 0; i < kSize; ++i) {
      double value = 0.3 * static_cast<double>(i);
      for (std::size_t row = 0; row < ids.size(); ++row) {
        value += std::sin(static_cast<double>((i + 1) * (ids[row] + 1)) +
                          0.1 * static_cast<double>(row) + 7.0 * first_row);
      }
      vector.push_back(static_cast<float>(value));
    }
    if (config_.read_head->normalize && !keeps_length) {
      double sum = 0;
      for (const float value : vector) {
        sum += static_cast<double>(value) * static_cast<double>(value);
      }
      for (float& value : vector) {
        value = static_cast<float>(static_cast<double>(value) / std::sqrt(sum));
      }
    }
    return vector;
  }
  /// That of a text with what the tokenizer adds.
  std::vector<float> VectorOfText(const std::string& text) const {
    return VectorOf(tokenizer_->EncodeWithAdded(text));
  }

  JobRows Compute(const std::vector<proto::PackedSequence>& sequences) const {
    JobRows rows;
    for (const proto::PackedSequence& sequence : sequences) {
      std::vector<proto::RowLogits>& of_sequence = rows.emplace_back();
      for (const proto::RowRead& read : sequence.reads) {
        EXPECT_TRUE(read.is_pooled());
        const std::vector<TokenId> seen(sequence.tokens.begin(),
                                        sequence.tokens.begin() + read.row + 1);
        of_sequence.emplace_back().embedding = VectorOf(seen, read.first_row, read.keeps_length);
      }
    }
    return rows;
  }

  proto::Expected<PreparedRequest> Prepare(const Endpoint& endpoint,
                                           const std::string& body) const {
    return PrepareBody(endpoint, body, context());
  }
  /// The response as the endpoint's clients know it, or the error.
  proto::Expected<OrderedJson> Respond(const Endpoint& endpoint, const std::string& body) const {
    proto::Expected<PreparedRequest> prepared = Prepare(endpoint, body);
    if (!prepared) {
      return proto::Unexpected(std::move(prepared).error());
    }
    auto response = prepared->readout->Respond(Compute(prepared->sequences));
    if (!response) {
      return proto::Unexpected(std::move(response).error());
    }
    (*response)->Complete("the-model",
                          {.usage = {.prompt_tokens = prepared->readout->prompt_tokens}});
    return JsonOf(**response);
  }
  /// "reason param" of the error; "none" if there is none.
  std::string FaultOf(const Endpoint& endpoint, const std::string& body) const {
    const auto response = Respond(endpoint, body);
    return response ? "none" : response.error().reason + " " + response.error().param;
  }
};

inline EmbeddingPrompts Prompts(std::vector<EmbeddingPrompts::Prompt> prompts,
                                std::string default_name = "") {
  return EmbeddingPrompts(std::move(prompts), std::move(default_name));
}

/// Numbers of JSON as the floats that they are.
inline std::vector<float> FloatsOf(const OrderedJson& list) {
  std::vector<float> floats;
  for (const OrderedJson& number : list) {
    floats.push_back(static_cast<float>(number.get<double>()));
  }
  return floats;
}

}  // namespace scorecast::coordinator
