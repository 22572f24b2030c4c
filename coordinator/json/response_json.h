#pragma once

#include <vector>

#include "coordinator/request/values.h"
#include "coordinator/json/json_text.h"

namespace scorecast::coordinator {

// What the answers of several doors have in their JSON.

JsonAnswerBody UsageToJson(const Usage& usage);
JsonAnswerBody TimingsToJson(const Timings& timings);
/// [rows][k] of [id, log-probability].
JsonAnswerBody TopLogprobsToJson(const std::vector<std::vector<TokenLogprob>>& rows);

}  // namespace scorecast::coordinator
