#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/prompt_completions.h"
#include "coordinator/request/row_scores.h"
#include "coordinator/request/values.h"
#include "proto/base/count.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// How the rows of a chunked request and its completions become the response.
struct ChunkedReadout : Readout {
  /// The questions' names in the request: "question", "questions[1]", "prompt".
  std::vector<std::string> questions;
  std::size_t num_chunks = 0;
  bool reads_rows = false;  ///< Whether one row is read for each question, as `row` says.
  RowReadout row;
  PromptCompletions completions;      ///< [questions], or empty.
  std::optional<std::uint64_t> seed;  ///< Empty if the request gives none and nothing is sampled.

  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override;
  std::string Summary() const override {
    return proto::Count(num_chunks, "chunk") + ", " + proto::Count(Items(), "question");
  }
  std::int64_t Items() const override { return static_cast<std::int64_t>(questions.size()); }
};

}  // namespace scorecast::coordinator
