#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/embeddings/embedder.h"
#include "coordinator/request/chunk_options.h"
#include "coordinator/text/files/transformer_module.h"
#include "coordinator/text/steps/encode_options.h"
#include "proto/model/generation_config.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

class ChatPrompts;
class Decider;
class Reranker;
class TextMessages;

enum class DelimiterVisibility {
  kHidden,  ///< No delimiter is computed: an item is scored as if it alone followed the query.
  kFirst,   ///< The first delimiter ends the prefix, so that every item sees it.
};

/// The tokens of an item whose query and items are text.
enum class ItemTokenization {
  kContinued,  ///< Those that it has in the joint text of query and item.
  kAlone,      ///< Those of the item encoded by itself.
};

/// The form of the JSON response to a rerank request that no field tells whose it is.
enum class RerankForm {
  kResults,  ///< An object with `results`, for the clients of Cohere, Jina and vLLM.
  kSglang,   ///< A list, as SGLang has it.
};

/// How this server interprets requests, and the limits of what it accepts.
struct ServerOptions {
  /// Whether items are scored one by one. Otherwise they share the query's rows (multi-item mode).
  bool one_by_one = false;
  /// Turns the rules of SGLang's multi-item mode on. Needs no delimiter.
  bool enable_mis = false;
  /// Turns these rules on, too, if set. An id in the model's vocabulary: see DelimiterFromFlag.
  std::optional<proto::TokenId> delimiter;
  DelimiterVisibility delimiter_visibility = DelimiterVisibility::kHidden;
  /// If not set, items are encoded alone under SGLang's rules, otherwise as continuations.
  std::optional<ItemTokenization> item_tokenization;
  std::int64_t max_items = 128;  ///< Most items, chunks or questions of a request.
  /// Most tokens computed for a request under SGLang's rules.
  std::int64_t max_multi_item_seq_len = 8192;
  /// What a special token becomes if it is spelled in the text of a request. Labels and the
  /// delimiter's flag may name special tokens in any case.
  SpecialTokensInText special_tokens_in_text = SpecialTokensInText::kAllow;
  std::string model_name = "default";  ///< In the response to a request that names no model.
  /// Whether a request that names another model gets a 404. Otherwise any name is taken.
  bool strict_model_name = false;
  ChunkOptions chunks;
  /// Defaults of requests to /v1/completions.
  proto::GenerationConfig generation;
  std::shared_ptr<const Reranker> reranker;  ///< Null if the server does not rerank.
  std::string no_reranker_reason;            ///< Why it does not. One line.
  /// Of responses to requests with `documents`.
  RerankForm rerank_form = RerankForm::kResults;

  Embedder embedder;  ///< Of an embedding model.
  /// How texts and pairs of an embedding model or a classifier become tokens.
  TransformerModule transformer;
  /// How they become messages first. Null if they are plain. Pairs that are reranked may be
  /// messages in any case: see Reranker::messages.
  std::shared_ptr<const TextMessages> messages;
  /// Most tokens of a text or a pair of a model that reads whole texts, with those that the
  /// tokenizer adds: see ReadTokenLimit.
  std::int64_t max_text_tokens = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> label_names;  ///< [num_labels] Of a classifier.
  /// Whether a priority better (lower) than 0 counts of clients whose key has no limit for it. If
  /// not, it is 0.
  bool trust_priority = true;
  std::shared_ptr<const Decider> decider;   ///< Null if the server does not decide.
  std::string no_decider_reason;            ///< Why it does not. One line.
  std::shared_ptr<const ChatPrompts> chat;  ///< Null if it takes no messages.
  std::string no_chat_reason;               ///< Why it does not. One line.
  std::int64_t max_questions = 1000;        ///< Of a request to /v1/systemone.

  bool has_sglang_rules() const { return enable_mis || delimiter.has_value(); }

  bool items_continue_query() const {
    return item_tokenization.value_or(has_sglang_rules() ? ItemTokenization::kAlone
                                                         : ItemTokenization::kContinued) ==
           ItemTokenization::kContinued;
  }
};

/// Default of --max-request-bytes. A longer line, body or frame gets a 413.
inline constexpr std::int64_t kDefaultMaxRequestBytes = std::int64_t{16} << 20;

}  // namespace scorecast::coordinator
