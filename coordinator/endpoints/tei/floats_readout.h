#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "coordinator/endpoints/text_readout.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// Returns the vectors of texts as numbers.
struct FloatsReadout : VectorReadout {
  /// `own_form` describes the JSON of a v1::EmbeddingsResponse.
  explicit FloatsReadout(const google::protobuf::Descriptor& own_form) : form(own_form) {}

  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::EmbeddingsResponse>();
    response->mutable_data()->Reserve(static_cast<int>(num_texts));
    const auto add = [&](std::size_t /*text*/, const std::vector<std::vector<float>>& vector) {
      response->add_data()->mutable_values()->Assign(vector.front().begin(), vector.front().end());
    };
    if (auto fault = ForEachText(rows, vectors, add)) {
      return proto::Unexpected(*std::move(fault));
    }
    return std::make_unique<EndpointResponse>(std::move(response), &form);
  }

  const google::protobuf::Descriptor& form;
};

}  // namespace scorecast::coordinator
