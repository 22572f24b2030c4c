#pragma once

#include <string_view>

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

// Endpoints of text-embeddings-inference, and of Pinecone, which has one of the same URL.

/// The URL whose endpoint text-embeddings-inference has at /, by the kind of the model. Empty if it
/// has no such models.
std::string_view TeiRootUrl(const proto::ModelConfig& config);

/// /embed: the vectors of texts, also as Pinecone has them.
const Endpoint& TeiEmbedEndpoint();
/// /pinecone/embed: the same for Pinecone's clients only.
const Endpoint& PineconeEmbedEndpoint();
/// /embed_all: the vectors of all their tokens.
const Endpoint& TeiEmbedAllEndpoint();
/// /similarity: the similarities of a sentence with others.
const Endpoint& TeiSimilarityEndpoint();

/// /predict: the classes of texts or pairs.
const Endpoint& TeiPredictEndpoint();

}  // namespace scorecast::coordinator
