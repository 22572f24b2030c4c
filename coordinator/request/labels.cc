#include "coordinator/request/labels.h"

#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

/// `field` is the name of the list in the request: "label_token_ids" or "label_token_ids[2]".
std::optional<Error> ListFault(const proto::LabelList& ids, const std::string& field,
                               std::int64_t vocab_size) {
  if (ids.empty()) {
    return BadRequest("no_labels", field + " must be a nonempty list.", field);
  }
  std::unordered_set<TokenId> seen;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string id = std::to_string(ids[i]);
    if (ids[i] < 0) {
      return BadRequest("negative_label",
                        "label_token_ids must contain nonnegative integers: " + id + " < 0.",
                        At(field, i));
    }
    if (ids[i] >= vocab_size) {
      return BadRequest("label_out_of_vocabulary",
                        "Token ID " + id + " is out of vocabulary (vocab size: " +
                            std::to_string(vocab_size) + ").",
                        At(field, i));
    }
    if (!seen.insert(ids[i]).second) {
      return BadRequest("duplicate_label",
                        field + " must not contain duplicate tokens: " + id + " is there twice.",
                        At(field, i));
    }
  }
  return std::nullopt;
}

/// Tokens of a text that are counted, at most.
constexpr std::int64_t kMostCounted = 1000;

/// The id of a text that must be exactly one token. `rule` says so, and `reason` is that of the 400
/// if it is not.
Expected<TokenId> IdOfText(std::string_view text, const std::string& field, const std::string& rule,
                           const std::string& reason, const Tokenizer& tokenizer,
                           const EncodeOptions& options, const Interruption* interruption) {
  if (!IsValidUtf8(text)) {
    return Unexpected(InvalidUtf8(field));
  }
  const auto not_one = [&](const std::string& count) {
    return BadRequest(reason, rule + ": " + Quoted(text) + " is " + count + " tokens.", field);
  };
  const auto encoded = tokenizer.EncodeWithin(
      {.max_tokens = kMostCounted, .interruption = interruption}, text, options);
  if (!encoded) {
    return Unexpected(EncodeError(encoded.error(), not_one(MoreThan(kMostCounted)), field));
  }
  if (encoded->ids.size() != 1) {
    return Unexpected(not_one(std::to_string(encoded->ids.size())));
  }
  return encoded->ids.front();
}

Expected<std::vector<TokenId>> IdsOfTexts(const std::vector<std::string_view>& labels,
                                          const Tokenizer* tokenizer,
                                          const Interruption* interruption) {
  if (tokenizer == nullptr) {
    return Unexpected(NoTokenizer("labels"));
  }
  std::vector<TokenId> ids;
  ids.reserve(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    Expected<TokenId> id =
        IdOfText(labels[i], At("labels", i),
                 "Each label must be exactly one token; items with likelihood may have several",
                 "label_not_one_token", *tokenizer, {}, interruption);
    if (!id) {
      return Unexpected(std::move(id).error());
    }
    ids.push_back(*id);
  }
  return ids;
}

LabelLists AllClasses(std::int64_t num_classes) {
  LabelLists classes;
  std::vector<TokenId> list(static_cast<std::size_t>(num_classes));
  std::iota(list.begin(), list.end(), 0);
  classes.lists.emplace_back(std::move(list));
  return classes;
}

}  // namespace

Expected<LabelLists> ResolveLabels(const GivenLabels& given, std::size_t num_items,
                                   const Tokenizer* tokenizer, const proto::ModelConfig& config,
                                   const Interruption* interruption, const std::string& otherwise) {
  if (config.is_classifier()) {
    if (given.texts || given.ids) {
      proto::Error fault = NotForClassifiers(given.texts ? "labels" : "label_token_ids");
      fault.message += " Leave it out: the model's classes are scored, and activation says how.";
      return Unexpected(std::move(fault));
    }
    return AllClasses(config.num_labels);
  }
  if (given.texts && given.ids) {
    return Unexpected(BadRequest("labels_given_twice",
                                 "Only one of label_token_ids and labels may be given.", "labels"));
  }
  LabelLists result;
  std::string field = "label_token_ids";
  if (given.texts) {
    field = "labels";
    Expected<std::vector<TokenId>> ids = IdsOfTexts(*given.texts, tokenizer, interruption);
    if (!ids) {
      return Unexpected(std::move(ids).error());
    }
    result.lists.emplace_back(*std::move(ids));
  } else if (!given.ids) {
    return Unexpected(BadRequest(
        "no_labels",
        "label_token_ids or labels is required for generation (CausalLM) models" + otherwise + ".",
        field));
  } else {
    result.per_item = given.ids_per_item;
    for (const std::span<const TokenId> list : *given.ids) {
      result.lists.emplace_back(std::vector<TokenId>(list.begin(), list.end()));
    }
    if (result.per_item && result.lists.size() != num_items) {
      return Unexpected(BadRequest("label_lists_mismatch",
                                   "label_token_ids must contain one list per item: " +
                                       proto::Count(result.lists.size(), "list") + " for " +
                                       proto::Count(num_items, "item") + ".",
                                   field));
    }
  }
  for (std::size_t i = 0; i < result.lists.size(); ++i) {
    if (auto fault =
            ListFault(result.lists[i], result.per_item ? At(field, i) : field, config.vocab_size)) {
      return Unexpected(*std::move(fault));
    }
  }
  return result;
}

Expected<TokenId> ResolveToken(const TextOrId& token, const std::string& field,
                               const Tokenizer* tokenizer, const proto::ModelConfig& config,
                               const Interruption* interruption) {
  TokenId id = 0;
  if (const auto* text = std::get_if<std::string_view>(&token)) {
    if (tokenizer == nullptr) {
      return Unexpected(NoTokenizer(field));
    }
    // As it is spelled inside a text: SentencePiece begins a text with another token.
    const Expected<TokenId> found =
        IdOfText(*text, field, field + " must be exactly one token", "not_one_token", *tokenizer,
                 {.at_start = false}, interruption);
    if (!found) {
      return found;
    }
    id = *found;
  } else {
    id = std::get<TokenId>(token);
  }
  if (auto fault = VocabularyFault({&id, 1}, field, config.vocab_size)) {
    return Unexpected(*std::move(fault));
  }
  return id;
}

}  // namespace scorecast::coordinator
