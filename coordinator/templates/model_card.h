#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The first heading of a model card (README.md), such as "Qwen3-Reranker-0.6B", outside of its
/// front matter and of code; empty if it has none.
std::string ModelCardTitle(std::string_view markdown);

}  // namespace scorecast::coordinator
