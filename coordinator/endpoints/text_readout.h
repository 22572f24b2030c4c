#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "coordinator/endpoints/embedding_vectors.h"
#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/request/request_context.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// The readout of texts, each of which is a sequence of its own.
struct TextReadout : Readout {
  std::size_t num_texts = 0;

  std::string Summary() const override;
  std::int64_t Items() const override { return static_cast<std::int64_t>(num_texts); }

 protected:
  /// Calls add(text, results) for each text in order, with what `values.Of(row, text)` makes of
  /// each of its rows. Returns the first error of `values`.
  template <typename Values, typename Add>
  std::optional<proto::Error> ForEachText(const JobRows& rows, const Values& values,
                                          const Add& add) const {
    using Result = std::remove_cvref_t<decltype(*values.Of(rows[0][0], 0))>;
    for (std::size_t text = 0; text < num_texts; ++text) {
      std::vector<Result> results;
      results.reserve(rows[text].size());
      for (const proto::RowLogits& row : rows[text]) {
        auto result = values.Of(row, text);
        if (!result) {
          return std::move(result).error();
        }
        results.push_back(*std::move(result));
      }
      add(text, std::move(results));
    }
    return std::nullopt;
  }
};

/// The same of texts whose vectors are the response.
struct VectorReadout : TextReadout {
  EmbeddingVectors vectors;
};

/// Checks and tokenizes texts, whose rows `readout` gets: see MakeTextSequences.
proto::Expected<PreparedRequest> PrepareTexts(const TextInputs& inputs,
                                              std::shared_ptr<TextReadout> readout,
                                              const RequestContext& context);

/// The same of texts whose vectors the client wants as `options` say. Sets `keeps_length` of
/// `inputs` and `vectors` of `readout`.
proto::Expected<PreparedRequest> PrepareVectors(const VectorOptions& options, TextInputs inputs,
                                                std::shared_ptr<VectorReadout> readout,
                                                const RequestContext& context);

}  // namespace scorecast::coordinator
