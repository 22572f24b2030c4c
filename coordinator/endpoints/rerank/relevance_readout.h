#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/embeddings/embedding_values.h"
#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/rerank/relevance_options.h"
#include "coordinator/rerank/reranker.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// How relevant a document is to its query.
struct Relevance {
  double score = 0;  ///< What the response has.
  /// The score without the formula's sigmoid and divisor. Documents are ordered by it, because
  /// different ones may have equal scores: see ScoreFormula.
  double raw = 0;
};

/// Which row is read for each document, and how its logits become the document's score.
struct RelevanceReadout {
  struct Row {
    std::size_t sequence = 0;  ///< Of the job.
    std::size_t read = 0;      ///< Of the sequence.
    std::size_t query = 0;     ///< If vectors are compared: the sequence of the query.
  };

  std::shared_ptr<const Reranker> reranker;
  Similarity similarity = Similarity::kCosine;
  ScoreScale scale = ScoreScale::kModel;
  std::string documents_field;  ///< Name of the documents' field in the request.
  std::vector<Row> rows;        ///< [documents]

  /// [documents] If a number is not finite, the 500 "not_finite" names the document as its `param`.
  proto::Expected<std::vector<Relevance>> Of(const JobRows& job_rows) const;
};

}  // namespace scorecast::coordinator
