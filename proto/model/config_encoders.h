#pragma once

#include "proto/model/config_fields.h"
#include "proto/model/families.h"
#include "proto/model/model_config.h"

namespace scorecast::proto {

/// Reads how rows know their positions and types: RoPE, a table of learned positions, token types.
/// `config` must already have its sizes and its vocabulary. Sets max_position_embeddings to the
/// positions that a text can use.
void ReadPositions(const Fields& fields, const Family& family, ModelConfig& config);

/// Whether a row sees the rows behind it.
bool ReadBidirectional(const Fields& fields, const Family& family);

/// Reads which norms there are. `config` must already have its layers.
void ReadNorms(const Fields& fields, const Family& family, ModelConfig& config);

/// The head of a bidirectional classifier. `config` must already have its labels.
ReadHead ReadClassifierHead(const Fields& fields, const Family& family, const ModelConfig& config);

/// What an embedder's rows become if modules.json says nothing of them: their mean, unless
/// config.json has the pooling.
ReadHead ReadEmbedderHead(const Fields& fields, const Family& family, const ModelConfig& config);

}  // namespace scorecast::proto
