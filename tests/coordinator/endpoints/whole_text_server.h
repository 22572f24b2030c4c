#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/rerank/reranker.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {

/// All of a server but its engine, for a classifier of pairs with token types. Its tokenizer puts
/// 259 before and 0 behind each text. The logit of its class is the sum of the tokens' ids, over
/// 1000.
struct PairServer : CheckingServer {
  PairServer() {
    config_.architecture = "BertForSequenceClassification";
    config_.hidden_size = 16;
    config_.type_vocab_size = 2;
    config_.num_labels = 1;
    config_.read_head.emplace();
    config_.read_head->output_size = 1;
    proto::SetModelLimits(config_, /*ranks=*/1, limits_);
    SetFormula("sigmoid(true)");
  }

  void SetFormula(const std::string& formula, const std::string& instruction = "") {
    options_.reranker =
        std::make_shared<const Reranker>(Reranker::Parts{.name = std::string(kPairTemplate),
                                                         .reason = "a test",
                                                         .default_instruction = instruction,
                                                         .prompt = std::nullopt,
                                                         .labels = proto::LabelList{0},
                                                         .formula = *ScoreFormula::Parse(formula)});
  }

  static double LogitOf(const proto::PackedSequence& sequence) {
    double sum = 0;
    for (const TokenId id : sequence.tokens) {
      sum += id;
    }
    return sum / 1000;
  }

  static JobRows Compute(const std::vector<proto::PackedSequence>& sequences) {
    JobRows rows;
    for (const proto::PackedSequence& sequence : sequences) {
      EXPECT_EQ(sequence.reads.size(), 1U);
      EXPECT_TRUE(sequence.reads.front().is_pooled());
      rows.emplace_back().emplace_back().label_logits = {static_cast<float>(LogitOf(sequence))};
    }
    return rows;
  }

  proto::Expected<PreparedRequest> Prepare(const Endpoint& endpoint,
                                           const nlohmann::json& body) const {
    return PrepareBody(endpoint, body.dump(), context());
  }
  PreparedRequest Prepared(const Endpoint& endpoint, const nlohmann::json& body) const {
    SCOPED_TRACE(body);
    return ValueOrFail(Prepare(endpoint, body));
  }
  OrderedJson Respond(const Endpoint& endpoint, const nlohmann::json& body) const {
    const PreparedRequest prepared = Prepared(endpoint, body);
    return Respond(prepared, Compute(prepared.sequences));
  }
  /// The response if the model gave these logits, one for each document.
  OrderedJson Respond(const Endpoint& endpoint, const nlohmann::json& body,
                      const std::vector<float>& logits) const {
    JobRows rows;
    for (const float logit : logits) {
      rows.emplace_back().emplace_back().label_logits = {logit};
    }
    return Respond(Prepared(endpoint, body), rows);
  }
  /// "code reason param" of the error; "none" if there is none.
  std::string FaultOf(const Endpoint& endpoint, const nlohmann::json& body) const {
    const auto prepared = Prepare(endpoint, body);
    return prepared ? "none"
                    : std::to_string(prepared.error().code) + " " + prepared.error().reason + " " +
                          prepared.error().param;
  }

 private:
  static OrderedJson Respond(const PreparedRequest& prepared, const JobRows& rows) {
    const auto response = prepared.readout->Respond(rows);
    (*response)->Complete("the-model",
                          {.usage = {.prompt_tokens = prepared.readout->prompt_tokens}});
    return JsonOf(**response);
  }
};

}  // namespace scorecast::coordinator
