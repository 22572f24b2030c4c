#pragma once

#include <string_view>

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

// Endpoints whose only clients are those of text-embeddings-inference.

/// The URL whose endpoint text-embeddings-inference has at /, by the kind of the model. Empty if it
/// has no such models.
std::string_view TeiRootUrl(const proto::ModelConfig& config);

/// /embed: the vectors of texts.
const Endpoint& TeiEmbedEndpoint();
/// /embed_all: the vectors of all their tokens.
const Endpoint& TeiEmbedAllEndpoint();
/// /similarity: the cosines of a sentence with others.
const Endpoint& TeiSimilarityEndpoint();

/// /predict: the classes of texts or pairs.
const Endpoint& TeiPredictEndpoint();

}  // namespace scorecast::coordinator
