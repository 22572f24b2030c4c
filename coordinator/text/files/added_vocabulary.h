#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/read_model.h"
#include "coordinator/text/files/tokenizer_config.h"
#include "coordinator/text/steps/added_tokens.h"

namespace scorecast::coordinator {

/// The added tokens of a tokenizer.json and of the files beside it, with the ids that the reference
/// gives them: a token whose text is in the vocabulary has the id from there, and every other token
/// the first id behind the model's tokens and all tokens that were added before it, whatever id its
/// file says.
class AddedVocabulary {
 public:
  /// `ids` is the model's vocabulary by text, of `model_size` tokens. The added tokens are put into
  /// it, as views into the document and the configuration, which must outlive it.
  AddedVocabulary(const TokenizerConfig& config, std::int64_t model_size, IdBySpelling& ids)
      : config_(config), ids_(ids), next_id_(static_cast<proto::TokenId>(model_size)) {}

  /// Adds those of the tokenizer.json `root`, then those of the configuration's `added_tokens` that
  /// it lacks. If both have a token, the flags of tokenizer.json count. Throws StartupError if a
  /// file gives one id to two texts, or another id than the vocabulary's to a text.
  void AddFromFiles(const JsonCursor& root);

  /// Adds the configuration's special tokens that are not among the added tokens yet, unless a new
  /// id would be beyond `embedding_rows`. Many directories name a padding token that the model does
  /// not have.
  void AddNamed();

  /// Says that a token is left out, or has another id than its file says. Empty if there is none.
  std::string note() const;
  std::vector<AddedToken> Take() &&;

 private:
  void AddOfTokenizerJson(const JsonCursor& list);
  void AddConfigured();
  /// `text` is the token's content, and outlives the vocabulary. `token` has the id of its file, or
  /// a negative one. Returns the token's id.
  proto::TokenId Add(std::string_view text, AddedToken token);

  const TokenizerConfig& config_;
  IdBySpelling& ids_;
  proto::TokenId next_id_;
  std::vector<AddedToken> tokens_;
  std::unordered_map<std::string_view, std::size_t> added_;  ///< By text, as indices into tokens_.
  std::string first_renumbered_;
  std::size_t renumbered_ = 0;
  std::string left_out_;
};

}  // namespace scorecast::coordinator
