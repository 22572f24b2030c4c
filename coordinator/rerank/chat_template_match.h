#pragma once

#include <string_view>

#include "coordinator/rerank/rerank_template.h"

namespace scorecast::coordinator {

/// Whether a chat template (Jinja) takes a query and a document: it names both roles.
bool IsRerankChatTemplate(std::string_view jinja);

/// Whether a chat template has the text of `ours`, and no other. Only its literal text is compared,
/// without line ends: what it computes is not known. A template of ours that has no text but chat
/// turns matches only one that IsRerankChatTemplate.
bool HasTextOf(std::string_view jinja, const RerankTemplate& ours);

}  // namespace scorecast::coordinator
