#pragma once

#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/score/score_endpoint.h"
#include "coordinator/endpoints/score/score_readout.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {

/// What a score request becomes.
struct Prepared {
  std::vector<proto::PackedSequence> sequences;
  ScoreReadout readout;
};

class ScorePreparation : public ::testing::Test {
 protected:
  ScorePreparation() {
    config_.vocab_size = 300;
    config_.max_position_embeddings = 512;
    request_["label_token_ids"] = std::vector<TokenId>{5, 6};
  }

  void ScoreOneByOne() {
    options_.delimiter.reset();
    options_.one_by_one = true;
  }

  Prepared Prepare(const Tokenizer* tokenizer = nullptr) {
    const PreparedRequest prepared = ValueOrFail(
        PrepareParsed(ScoreEndpoint().FromJson(request_), {config_, tokenizer, options_, limits_}));
    if (prepared.readout == nullptr) {
      return {};
    }
    return {prepared.sequences, static_cast<const ScoreReadout&>(*prepared.readout)};
  }

  proto::ModelConfig config_;
  ServerOptions options_;
  proto::PlanLimits limits_{
      .max_rows = 1024, .max_reads = 256, .pass_kv_rows = 4096, .kept_kv_rows = 4096};
  nlohmann::json request_;
};

}  // namespace scorecast::coordinator
