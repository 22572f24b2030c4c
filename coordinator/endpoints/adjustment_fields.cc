#include "coordinator/endpoints/adjustment_fields.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

constexpr double kMaxRepetitionPenalty = 100;
constexpr double kMaxPenalty = 2;
constexpr double kMaxBias = 100;
// Bounded, because the words are looked for at every token.
constexpr std::size_t kMaxBadWords = 256;

/// By id. Of an id that is there twice, the last bias counts.
Expected<std::vector<std::pair<TokenId, double>>> BiasesOf(const GenerationFields& fields,
                                                           const RequestContext& context) {
  std::vector<std::pair<TokenId, double>> biases;
  for (const auto& [key, bias] : fields.logit_bias) {
    const std::string field = "logit_bias." + proto::OneLine(key);
    TokenId id = -1;
    const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (fault != std::errc() || end != key.data() + key.size()) {
      return Unexpected(BadRequest(
          "bad_token_id", "logit_bias has ids of tokens, not " + proto::Quoted(key) + ".", field));
    }
    if (auto unknown = VocabularyFault({&id, 1}, field, context.config.vocab_size)) {
      return Unexpected(*std::move(unknown));
    }
    if (!(bias >= -kMaxBias && bias <= kMaxBias)) {
      Error error = OutOfRange("logit_bias", "from -100 to 100 for each token");
      error.param = field;
      return Unexpected(std::move(error));
    }
    biases.emplace_back(id, bias);
  }
  std::ranges::stable_sort(biases, {}, &std::pair<TokenId, double>::first);
  std::vector<std::pair<TokenId, double>> last;
  for (const auto& bias : biases) {
    if (!last.empty() && last.back().first == bias.first) {
      last.pop_back();
    }
    last.push_back(bias);
  }
  std::erase_if(last, [](const auto& bias) { return bias.second == 0; });
  return last;
}

/// The ways in which the tokens of a text may have a word: at the text's beginning or later, with a
/// space or without.
Expected<std::vector<std::vector<TokenId>>> WordsOf(const GenerationFields& fields,
                                                    const RequestContext& context) {
  std::vector<std::vector<TokenId>> words;
  if (!fields.bad_words.empty() && context.tokenizer == nullptr) {
    return Unexpected(NoTokenizer("bad_words"));
  }
  for (std::size_t i = 0; i < fields.bad_words.size(); ++i) {
    if (auto fault = StopFault(context.interruption)) {
      return Unexpected(*std::move(fault));
    }
    const std::string_view word = fields.bad_words[i];
    const std::size_t spaces = std::min(word.find_first_not_of(' '), word.size());
    // A word of spaces stays as it is.
    std::vector<std::string> spellings = {std::string(word)};
    if (spaces < word.size()) {
      const std::string bare(word.substr(spaces));
      spellings = {bare, " " + bare};
    }
    bool has_tokens = false;
    for (const std::string& spelling : spellings) {
      for (const bool at_start : {true, false}) {
        std::vector<TokenId> ids = context.tokenizer->Encode(spelling, {.at_start = at_start});
        if (auto fault = VocabularyFault(ids, At("bad_words", i), context.config.vocab_size)) {
          return Unexpected(*std::move(fault));
        }
        has_tokens = has_tokens || !ids.empty();
        if (!ids.empty() && std::ranges::find(words, ids) == words.end()) {
          words.push_back(std::move(ids));
        }
      }
    }
    if (!has_tokens) {
      return Unexpected(
          BadRequest("empty_bad_word", "A bad word has no token.", At("bad_words", i)));
    }
  }
  return words;
}

/// The 400 of fields that could forbid all tokens at a time. The tokens that words end with, and
/// those that end a completion, are fewer than those that may be chosen.
std::optional<Error> NoTokenFault(const AdjustmentOptions& options, const RequestContext& context) {
  std::vector<TokenId> forbidden;
  for (const std::vector<TokenId>& word : options.bad_words) {
    forbidden.push_back(word.back());
  }
  if (options.min_tokens > 0) {
    forbidden.insert(forbidden.end(), options.end_ids.begin(), options.end_ids.end());
  }
  SortIds(forbidden);
  const bool forbids_all = options.allowed.empty()
                               ? std::cmp_greater_equal(forbidden.size(), context.config.vocab_size)
                               : std::ranges::includes(forbidden, options.allowed);
  if (!forbids_all) {
    return std::nullopt;
  }
  return BadRequest("no_token_allowed",
                    "No token is left: all that are allowed may be forbidden by bad_words or "
                    "min_tokens.",
                    options.allowed.empty() ? "bad_words" : "allowed_token_ids");
}

}  // namespace

std::optional<Error> AdjustmentFault(const GenerationFields& fields) {
  if (!(fields.repetition_penalty > 0 && fields.repetition_penalty <= kMaxRepetitionPenalty)) {
    return OutOfRange("repetition_penalty", "greater than 0 and at most 100");
  }
  for (const auto& [field, penalty] : {std::pair("presence_penalty", fields.presence_penalty),
                                       std::pair("frequency_penalty", fields.frequency_penalty)}) {
    if (!(penalty >= -kMaxPenalty && penalty <= kMaxPenalty)) {
      return OutOfRange(field, "from -2 to 2");
    }
  }
  if (fields.min_tokens < 0 || (fields.generates() && fields.min_tokens > fields.max_new_tokens)) {
    return OutOfRange("min_tokens", "from 0 to " + fields.max_field + ", not " +
                                        std::to_string(fields.min_tokens));
  }
  if (fields.allowed_token_ids && fields.allowed_token_ids->empty()) {
    return BadRequest("no_token_allowed", "allowed_token_ids must not be empty.",
                      "allowed_token_ids");
  }
  if (fields.bad_words.size() > kMaxBadWords) {
    return BadRequest("too_many_bad_words",
                      "Too many bad words: " + std::to_string(fields.bad_words.size()) + " > " +
                          std::to_string(kMaxBadWords) + ".",
                      "bad_words");
  }
  for (std::size_t i = 0; i < fields.bad_words.size(); ++i) {
    if (auto fault =
            SoughtTextFault(fields.bad_words[i], {"bad_word", "bad word"}, At("bad_words", i))) {
      return fault;
    }
  }
  return std::nullopt;
}

Expected<TokenAdjustments> AdjustmentsOf(const GenerationFields& fields,
                                         const RequestContext& context) {
  AdjustmentOptions options = {.repetition_penalty = fields.repetition_penalty,
                               .frequency_penalty = fields.frequency_penalty,
                               .presence_penalty = fields.presence_penalty,
                               .min_tokens = fields.min_tokens};
  auto biases = BiasesOf(fields, context);
  if (!biases) {
    return Unexpected(std::move(biases).error());
  }
  options.logit_bias = *std::move(biases);
  auto words = WordsOf(fields, context);
  if (!words) {
    return Unexpected(std::move(words).error());
  }
  options.bad_words = *std::move(words);
  if (fields.allowed_token_ids) {
    if (auto fault = VocabularyFault(*fields.allowed_token_ids, "allowed_token_ids",
                                     context.config.vocab_size)) {
      return Unexpected(*std::move(fault));
    }
    std::vector<TokenId> allowed(fields.allowed_token_ids->begin(),
                                 fields.allowed_token_ids->end());
    SortIds(allowed);
    options.allowed = std::move(allowed);
  }
  // vLLM forbids EOS before min_tokens although it is ignored.
  options.end_ids = context.config.eos_token_ids;
  options.end_ids.insert(options.end_ids.end(), fields.stop_token_ids.begin(),
                         fields.stop_token_ids.end());
  if (auto fault = NoTokenFault(options, context)) {
    return Unexpected(*std::move(fault));
  }
  return TokenAdjustments(std::move(options));
}

}  // namespace scorecast::coordinator
