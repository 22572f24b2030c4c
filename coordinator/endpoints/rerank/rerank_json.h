#pragma once

#include <span>

#include <nlohmann/json_fwd.hpp>

#include "coordinator/endpoints/rerank/rerank_request.h"
#include "coordinator/json/field_table.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The forms of a rerank request: with `documents`, and TEI's with `texts`.
std::span<const FieldTable* const> RerankForms();

/// Reads the body of /v1/rerank: see BodyReader. The field `texts` makes it TEI's.
proto::Expected<RerankRequest> RerankRequestFromJson(const nlohmann::json& body);

}  // namespace scorecast::coordinator
