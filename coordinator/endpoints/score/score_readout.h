#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/request/row_scores.h"
#include "coordinator/request/values.h"
#include "proto/base/count.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// How the rows of a score request become its response.
struct ScoreReadout : Readout {
  bool query_row = false;  ///< The first row read is the query's. The items' rows follow it.
  /// [items] Index of the item's first row among the items' rows. Other rows of it follow it.
  std::vector<std::size_t> item_rows;
  /// [items] Number of the item's rows. Set if the request is setwise; otherwise each has one.
  std::optional<std::vector<std::int64_t>> occurrences;
  RowReadout row;
  bool query_token_logprobs = false;
  bool item_first_ignored = false;

  /// If a number is not finite, the 500 "not_finite" names the item as its `param`.
  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override;
  std::string Summary() const override { return proto::Count(Items(), "item"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(item_rows.size()); }
};

}  // namespace scorecast::coordinator
