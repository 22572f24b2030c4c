#pragma once

#include <vector>

#include "coordinator/json/json_text.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/request/values.h"

namespace scorecast::coordinator {

// JSON that the responses of several endpoints have in common.

OrderedJson UsageToJson(const Usage& usage);
OrderedJson TimingsToJson(const Timings& timings);
/// A list of lists, one of which is converted at a time.
void WriteRows(const std::vector<std::vector<double>>& rows, JsonWriter& writer);
/// [rows][k] of [id, log-probability].
void WriteTopLogprobs(const std::vector<std::vector<TokenLogprob>>& rows, JsonWriter& writer);

}  // namespace scorecast::coordinator
