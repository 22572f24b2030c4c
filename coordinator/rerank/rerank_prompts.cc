#include "coordinator/rerank/rerank_prompts.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/text/continued_text.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

using Ids = std::vector<TokenId>;

void Append(Ids& ids, const Ids& more) { ids.insert(ids.end(), more.begin(), more.end()); }

bool HasDocument(const TemplateSection& section) {
  const auto* run = std::get_if<TemplateRun>(&section);
  return run != nullptr && std::any_of(run->parts.begin(), run->parts.end(),
                                       [](const auto& part) { return part.place == "document"; });
}

/// The text of a run, with those of the request in their places. The document's place divides it.
struct RunText {
  std::string before;  ///< The document, or all if the run has none.
  /// The document and the query or instruction, if the document stands first. Otherwise empty.
  std::string between;
  std::string behind;
};

RunText TextOf(const TemplateRun& run, std::string_view query, std::string_view instruction,
               bool is_document_first) {
  RunText text;
  std::string* at = &text.before;
  for (const TemplatePart& part : run.parts) {
    if (part.is_text()) {
      *at += part.text;
    } else if (part.place == "document") {
      at = is_document_first ? &text.between : &text.behind;
    } else {
      // What follows the document is the same for all requests only up to here.
      at = at == &text.between ? &text.behind : at;
      *at += part.place == "query" ? query : instruction;
    }
  }
  return text;
}

/// How many tokens the prompts begin with: those before the last certain cut in the text before the
/// document, of `text_size` bytes. If there is no such cut, a text that is only the template's, and
/// short, goes with each document. Otherwise the prefix has all tokens of the text, with which most
/// prompts begin.
std::size_t PrefixTokens(const ContinuedText& head, std::size_t text_size, const TemplateRun& run) {
  const bool has_cut = head.tail().size() < text_size;
  const bool is_query_elsewhere = run.parts.front().is_text() && run.parts[1].place == "document";
  const bool ends_at_cut = has_cut || (is_query_elsewhere && head.certain_tokens() > 0);
  return ends_at_cut ? head.certain_tokens() : head.ids().size();
}

}  // namespace

Expected<ItemPrompts, EncodeFault> RerankPrompts(const Reranker& reranker, std::string_view query,
                                                 std::optional<std::string_view> instruction,
                                                 const EncodeLimits& limits) {
  const TemplateTokens& prompt = reranker.prompt();
  const Tokenizer& tokenizer = prompt.tokenizer();
  const std::string_view instructed =
      instruction.value_or("").empty() ? reranker.default_instruction() : *instruction;
  Ids before;
  Ids after;
  const TemplateRun* document_run = nullptr;
  for (const TemplateSection& section : prompt.sections(/*with_instruction=*/!instructed.empty())) {
    if (HasDocument(section)) {
      document_run = &std::get<TemplateRun>(section);
      continue;
    }
    Ids& side = document_run == nullptr ? before : after;
    if (const auto* ids = std::get_if<Ids>(&section)) {
      Append(side, *ids);
      continue;
    }
    const auto& run = std::get<TemplateRun>(section);
    const Expected<EncodedText, EncodeFault> encoded = tokenizer.EncodeWithin(
        limits.Behind(before.size() + after.size()),
        TextOf(run, query, instructed, /*is_document_first=*/false).before, run.options);
    if (!encoded) {
      return Unexpected(encoded.error());
    }
    Append(side, encoded->ids);
  }

  RunText text = TextOf(*document_run, query, instructed, prompt.is_document_first());
  Expected<ContinuedText, EncodeFault> head =
      ContinuedText::Make(tokenizer, std::move(before), text.before, document_run->options,
                          limits.Behind(after.size()));
  if (!head) {
    return Unexpected(head.error());
  }
  const std::size_t prefix_tokens = PrefixTokens(*head, text.before.size(), *document_run);
  return ItemPrompts::Make(tokenizer,
                           {.head = *std::move(head),
                            .prefix_tokens = prefix_tokens,
                            .is_item_first = prompt.is_document_first(),
                            .between = std::move(text.between),
                            .behind = std::move(text.behind),
                            .after = std::move(after)},
                           limits);
}

}  // namespace scorecast::coordinator
