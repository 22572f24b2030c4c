#pragma once

#include <cstdint>

#include "coordinator/request/server_options.h"
#include "proto/base/error.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// Upper bound on the values of a request that take more memory than their bytes: texts, lists and
/// objects. They are counted before the request is parsed. Token ids do not count. No request that
/// this server accepts has more: a label for each token of the vocabulary, a few values for each
/// item, the options of each question, and generous room for fields that are ignored.
std::int64_t MaxValues(const proto::ModelConfig& config, const ServerOptions& options);

/// The 413 for a request with more values than `limit`.
proto::Error TooManyValues(std::int64_t limit);

}  // namespace scorecast::coordinator
