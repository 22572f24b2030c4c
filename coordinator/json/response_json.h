#pragma once

#include <vector>

#include "coordinator/json/json_text.h"
#include "coordinator/request/values.h"

namespace scorecast::coordinator {

// JSON that the responses of several endpoints have in common.

OrderedJson UsageToJson(const Usage& usage);
OrderedJson TimingsToJson(const Timings& timings);
/// [rows][k] of [id, log-probability].
OrderedJson TopLogprobsToJson(const std::vector<std::vector<TokenLogprob>>& rows);

}  // namespace scorecast::coordinator
