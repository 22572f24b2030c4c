#pragma once

#include <nlohmann/json_fwd.hpp>

#include "coordinator/endpoints/rerank/pair_score_request.h"
#include "coordinator/json/field_table.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The body of /v1/score as vLLM has it.
extern const FieldTable kPairScoreFields;

/// Whether a body of /v1/score, which may be any JSON, has vLLM's fields and not SGLang's.
bool IsPairScore(const nlohmann::json& body);

/// Reads such a body: see BodyReader.
proto::Expected<PairScoreRequest> PairScoreRequestFromJson(const nlohmann::json& body);

}  // namespace scorecast::coordinator
