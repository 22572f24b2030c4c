#include "coordinator/rerank/rerank_prompts.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "coordinator/rerank/document_cut.h"
#include "coordinator/text/continued_text.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

using Ids = std::vector<TokenId>;
using PartKind = RerankTemplate::PartKind;

void Append(Ids& ids, const Ids& more) { ids.insert(ids.end(), more.begin(), more.end()); }

std::int64_t Size(const Ids& ids) { return static_cast<std::int64_t>(ids.size()); }

bool HasDocument(const TemplateTokens::Section& section) {
  const auto* run = std::get_if<TemplateTokens::Run>(&section);
  return run != nullptr && std::any_of(run->parts.begin(), run->parts.end(), [](const auto& part) {
           return part.kind == PartKind::kDocument;
         });
}

/// The text of a run, with those of the request in their places. The document's place divides it.
struct RunText {
  std::string before;  ///< The document, or all if the run has none.
  /// The document and the query, if the document stands first. Otherwise the beginning of what
  /// follows the document, if that has a certain cut.
  std::string between;
  std::string behind;
};

RunText TextOf(const TemplateTokens::Run& run, std::string_view query, std::string_view instruction,
               bool is_document_first) {
  RunText text;
  std::string* at = &text.before;
  for (const RerankTemplate::Part& part : run.parts) {
    switch (part.kind) {
      case PartKind::kText:
        *at += part.text;
        break;
      case PartKind::kDocument:
        at = is_document_first ? &text.between : &text.behind;
        break;
      case PartKind::kQuery:
      case PartKind::kInstruction:
        // What follows the document is the same for all requests only up to here.
        at = at == &text.between ? &text.behind : at;
        *at += part.kind == PartKind::kQuery ? query : instruction;
        break;
    }
  }
  return text;
}

/// The tokens that the prompts begin with: those before the last certain cut in the text before the
/// document, of `text_size` bytes. If there is no such cut, a text that is only the template's, and
/// short, goes with each document. Otherwise the prefix has all tokens of the text, with which most
/// prompts begin.
Ids PrefixOf(const ContinuedText& head, std::size_t text_size, const TemplateTokens::Run& run) {
  const bool has_cut = head.tail().size() < text_size;
  const bool is_query_elsewhere =
      run.parts.front().kind == PartKind::kText && run.parts[1].kind == PartKind::kDocument;
  const bool ends_at_cut = has_cut || (is_query_elsewhere && head.certain_tokens() > 0);
  const auto size =
      static_cast<std::ptrdiff_t>(ends_at_cut ? head.certain_tokens() : head.ids().size());
  return {head.ids().begin(), head.ids().begin() + size};
}

/// The size of a short beginning of `text` that has a certain cut; 0 if none is found.
std::size_t BeginningWithCut(const Tokenizer& tokenizer, std::string_view text,
                             const EncodeOptions& options) {
  constexpr std::size_t kLeastBytes = 8;
  for (std::size_t size = kLeastBytes; size < text.size(); size *= 2) {
    const std::size_t end = CharacterEnd(text, size);
    if (tokenizer.FindOpenEnd(text.substr(0, end), options).cut > 0) {
      return end;
    }
  }
  return 0;
}

}  // namespace

struct RerankPrompts::State {
  State(const Tokenizer& from, ContinuedText run_head)
      : tokenizer(from), head(std::move(run_head)) {}

  const Tokenizer& tokenizer;
  bool is_document_first = false;
  /// What stands before the document, as far as it is in one run with it, behind the tokens of all
  /// sections before the run.
  ContinuedText head;
  std::string between;  ///< As in RunText.
  std::string behind;   ///< As in RunText.
  Ids after;            ///< The tokens of the sections behind the document's run.
  Ids after_cut;        ///< The tokens behind a document that is cut: between, behind and `after`.
  Ids prefix;
  /// The tokens of `behind` together with the text before it that most documents leave behind the
  /// last certain cut. They are not made again for each document.
  struct UsualRest {
    std::string tail;
    EncodeOptions options;
    Ids ids;
  };
  UsualRest usual_rest;
  std::int64_t query_tokens = 0;
  /// Number of head.ids() behind its certain tokens.
  std::size_t tail_tokens() const { return head.ids().size() - head.certain_tokens(); }

  /// The run's beginning with a document, as far as the texts of the request do not follow it.
  Expected<ContinuedText, EncodeFault> Block(std::string_view document,
                                             const EncodeLimits& limits) const {
    return ContinuedText::Make(tokenizer, {}, head.tail() + std::string(document) + between,
                               head.tail_options(), limits);
  }
  Expected<Prompt, EncodeFault> Whole(std::string_view document, std::int64_t max_tokens,
                                      const EncodeLimits& stop) const;
  Expected<Prompt, EncodeFault> Cut(std::string_view document, std::int64_t max_document_tokens,
                                    const DocumentLimits& limits, const EncodeLimits& stop) const;
  /// Divides the tokens of a prompt behind head's certain tokens.
  Prompt Divide(Ids document, Ids rest) const;
};

RerankPrompts::RerankPrompts(std::unique_ptr<const State> state) : state_(std::move(state)) {}
RerankPrompts::RerankPrompts(RerankPrompts&&) noexcept = default;
RerankPrompts& RerankPrompts::operator=(RerankPrompts&&) noexcept = default;
RerankPrompts::~RerankPrompts() = default;

Expected<RerankPrompts, EncodeFault> RerankPrompts::Make(
    const Reranker& reranker, std::string_view query, std::optional<std::string_view> instruction,
    const EncodeLimits& limits) {
  const TemplateTokens& prompt = reranker.prompt();
  const Tokenizer& tokenizer = prompt.tokenizer();
  const std::string_view instructed =
      instruction.value_or("").empty() ? reranker.default_instruction() : *instruction;
  std::int64_t total = 0;
  const auto encode = [&](std::string_view text,
                          const EncodeOptions& options) -> Expected<Ids, EncodeFault> {
    Expected<EncodedText, EncodeFault> encoded =
        tokenizer.EncodeWithin(limits.Behind(static_cast<std::size_t>(total)), text, options);
    return encoded ? Expected<Ids, EncodeFault>(std::move(encoded->ids))
                   : Unexpected(encoded.error());
  };

  Ids before;
  Ids after;
  const TemplateTokens::Run* document_run = nullptr;
  for (const TemplateTokens::Section& section :
       prompt.sections(/*with_instruction=*/!instructed.empty())) {
    if (HasDocument(section)) {
      document_run = &std::get<TemplateTokens::Run>(section);
      continue;
    }
    Ids& side = document_run == nullptr ? before : after;
    if (const auto* ids = std::get_if<Ids>(&section)) {
      Append(side, *ids);
      total += Size(*ids);
      continue;
    }
    const auto& run = std::get<TemplateTokens::Run>(section);
    const Expected<Ids, EncodeFault> ids =
        encode(TextOf(run, query, instructed, /*is_document_first=*/false).before, run.options);
    if (!ids) {
      return Unexpected(ids.error());
    }
    Append(side, *ids);
    total += Size(*ids);
  }

  RunText text = TextOf(*document_run, query, instructed, prompt.is_document_first());
  Expected<ContinuedText, EncodeFault> head =
      ContinuedText::Make(tokenizer, std::move(before), text.before, document_run->options,
                          limits.Behind(after.size()));
  if (!head) {
    return Unexpected(head.error());
  }
  total = Size(head->ids()) + Size(after);
  const EncodeOptions later = {.at_start = false, .special_tokens = SpecialTokensInText::kEscape};
  Expected<Ids, EncodeFault> after_cut = encode(text.between + text.behind, later);
  if (!after_cut) {
    return Unexpected(after_cut.error());
  }
  if (total + Size(*after_cut) > limits.max_tokens) {
    return Unexpected(EncodeFault::kTooManyTokens);
  }
  const Expected<EncodedText, EncodeFault> query_alone =
      tokenizer.EncodeWithin(limits.Uncounted(), query, later);
  if (!query_alone) {
    return Unexpected(query_alone.error());
  }

  if (!prompt.is_document_first()) {
    const std::size_t size = BeginningWithCut(tokenizer, text.behind, later);
    text.between = text.behind.substr(0, size);
    text.behind.erase(0, size);
  }
  const std::size_t text_before_size = text.before.size();
  auto state = std::make_unique<State>(tokenizer, *std::move(head));
  state->is_document_first = prompt.is_document_first();
  state->between = std::move(text.between);
  state->behind = std::move(text.behind);
  Append(*after_cut, after);
  state->after_cut = *std::move(after_cut);
  state->after = std::move(after);
  state->prefix = PrefixOf(state->head, text_before_size, *document_run);
  state->query_tokens = Size(query_alone->ids);
  if (!state->behind.empty()) {
    const Expected<ContinuedText, EncodeFault> block = state->Block({}, limits.Uncounted());
    if (!block) {
      return Unexpected(block.error());
    }
    Expected<Ids, EncodeFault> rest = block->ContinueTail(state->behind, limits.Uncounted());
    if (!rest) {
      return Unexpected(rest.error());
    }
    state->usual_rest = {block->tail(), block->tail_options(), *std::move(rest)};
  }
  return RerankPrompts(std::move(state));
}

const std::vector<TokenId>& RerankPrompts::prefix() const { return state_->prefix; }
std::int64_t RerankPrompts::query_tokens() const { return state_->query_tokens; }

RerankPrompts::Prompt RerankPrompts::State::Divide(Ids document, Ids rest) const {
  Prompt prompt{.document = std::move(document), .rest = std::move(rest)};
  // Tokens that the prefix has behind the certain ones; none if there is a certain cut.
  const std::size_t extra = prefix.size() - head.certain_tokens();
  Ids& first = prompt.document.empty() ? prompt.rest : prompt.document;
  if (extra <= first.size() &&
      std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(extra),
                 prefix.begin() + static_cast<std::ptrdiff_t>(head.certain_tokens()))) {
    first.erase(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(extra));
  } else {
    prompt.include_prefix = true;
    first.insert(first.begin(), head.ids().begin(),
                 head.ids().begin() + static_cast<std::ptrdiff_t>(head.certain_tokens()));
  }
  return prompt;
}

/// The prompt with all of its document, whose tokens are at most `max_tokens` with those of the
/// text before and behind it in its run.
Expected<RerankPrompts::Prompt, EncodeFault> RerankPrompts::State::Whole(
    std::string_view document, std::int64_t max_tokens, const EncodeLimits& stop) const {
  EncodeLimits limits = stop;
  limits.max_tokens = max_tokens;
  if (!is_document_first && between.empty()) {
    Expected<Ids, EncodeFault> rest = head.ContinueTail(std::string(document) + behind, limits);
    if (!rest) {
      return Unexpected(rest.error());
    }
    Append(*rest, after);
    return Divide({}, *std::move(rest));
  }
  const Expected<ContinuedText, EncodeFault> block = Block(document, stop);
  if (!block) {
    return Unexpected(block.error());
  }
  const bool is_usual =
      block->tail() == usual_rest.tail && block->tail_options() == usual_rest.options;
  Expected<Ids, EncodeFault> rest =
      is_usual ? usual_rest.ids
               : block->ContinueTail(behind, limits.Behind(block->certain_tokens()));
  if (!rest) {
    return Unexpected(rest.error());
  }
  if (static_cast<std::int64_t>(block->certain_tokens()) + Size(*rest) > max_tokens) {
    return Unexpected(EncodeFault::kTooManyTokens);
  }
  Append(*rest, after);
  Ids ids = block->ids();
  ids.resize(block->certain_tokens());
  if (!is_document_first) {
    Append(ids, *rest);
    return Divide({}, std::move(ids));
  }
  return Divide(std::move(ids), *std::move(rest));
}

Expected<RerankPrompts::Prompt, EncodeFault> RerankPrompts::State::Cut(
    std::string_view document, std::int64_t max_document_tokens, const DocumentLimits& limits,
    const EncodeLimits& stop) const {
  const auto most = static_cast<std::size_t>(max_document_tokens);
  const std::string text = head.tail() + std::string(document);
  Ids ids;
  if (limits.cut == DocumentLimits::Cut::kStart) {
    Expected<Ids, EncodeFault> last = LastTokens(tokenizer, text, head.tail_options(), most, stop);
    if (!last) {
      return Unexpected(last.error());
    }
    ids.assign(head.ids().begin() + static_cast<std::ptrdiff_t>(head.certain_tokens()),
               head.ids().end());
    Append(ids, *last);
  } else {
    Expected<Ids, EncodeFault> first =
        FirstTokens(tokenizer, text, head.tail_options(), tail_tokens() + most, stop);
    if (!first) {
      return Unexpected(first.error());
    }
    ids = *std::move(first);
  }
  Ids document_ids = is_document_first ? std::move(ids) : Ids();
  Ids rest = is_document_first ? Ids() : std::move(ids);
  Append(rest, after_cut);
  Prompt prompt = Divide(std::move(document_ids), std::move(rest));
  prompt.document_tokens = max_document_tokens;
  prompt.is_cut = true;
  return prompt;
}

Expected<RerankPrompts::Prompt, EncodeFault> RerankPrompts::Document(
    std::string_view document, const DocumentLimits& limits) const {
  const State& state = *state_;
  const EncodeLimits stop = {.stop = limits.stop};
  // Tokens of the prompt that are not the document's.
  const std::int64_t others = Size(state.head.ids()) + Size(state.after_cut);
  const std::int64_t fits = limits.max_prompt_tokens - others;
  if (fits < 0) {
    return Unexpected(EncodeFault::kTooManyTokens);
  }
  const std::int64_t max_document_tokens = std::min(limits.max_document_tokens, fits);

  // The document's tokens are those by which it makes the text before it longer.
  EncodeLimits document_limits = stop;
  if (max_document_tokens < EncodeLimits::kUnlimited - Size(state.head.ids())) {
    document_limits.max_tokens =
        max_document_tokens + static_cast<std::int64_t>(state.tail_tokens());
  }
  Expected<Ids, EncodeFault> joined = state.head.ContinueTail(document, document_limits);
  if (joined) {
    const std::int64_t document_tokens =
        std::max<std::int64_t>(Size(*joined) - static_cast<std::int64_t>(state.tail_tokens()), 0);
    const bool is_last_of_run = state.between.empty() && state.behind.empty();
    if (is_last_of_run && !state.is_document_first) {
      Append(*joined, state.after);
      Prompt prompt = state.Divide({}, *std::move(joined));
      prompt.document_tokens = document_tokens;
      return prompt;
    }
    const std::int64_t run_tokens = limits.max_prompt_tokens -
                                    static_cast<std::int64_t>(state.head.certain_tokens()) -
                                    Size(state.after);
    Expected<Prompt, EncodeFault> whole = state.Whole(document, run_tokens, stop);
    if (whole) {
      whole->document_tokens = document_tokens;
    }
    // With the text behind it, the document may have more tokens than alone.
    if (whole || whole.error() != EncodeFault::kTooManyTokens ||
        limits.cut == DocumentLimits::Cut::kNone) {
      return whole;
    }
    return state.Cut(document, std::min(document_tokens, max_document_tokens), limits, stop);
  }
  if (joined.error() != EncodeFault::kTooManyTokens || limits.cut == DocumentLimits::Cut::kNone) {
    return Unexpected(joined.error());
  }
  return state.Cut(document, max_document_tokens, limits, stop);
}

}  // namespace scorecast::coordinator
