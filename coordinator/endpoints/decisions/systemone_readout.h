#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/decisions/decider.h"
#include "coordinator/endpoints/endpoint.h"
#include "proto/base/count.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// How the rows of a request to /v1/systemone become its response.
struct SystemOneReadout : Readout {
  /// Where a row is that is read for a question. The read behind it is that of the label mass, if
  /// that is wanted.
  struct Row {
    std::size_t sequence = 0;  ///< Of the job.
    std::size_t read = 0;      ///< Of the sequence.
  };
  struct Question {
    std::string id;
    std::string field;  ///< Names it in errors.
    DecisionType type = DecisionType::kNoul;
    /// The options of a choice, or the levels of a score as JSON.
    std::vector<std::string> texts;
    /// One for each order in which it was asked, the usual one first. Empty if it has one answer.
    std::vector<Row> rows;
  };

  std::shared_ptr<const Decider> decider;
  bool has_label_mass = false;
  std::vector<Question> questions;

  /// If a number is not finite, the 500 "not_finite" names the question as its `param`.
  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override;
  std::string Summary() const override { return proto::Count(Items(), "question"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(questions.size()); }
};

}  // namespace scorecast::coordinator
