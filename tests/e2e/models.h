#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "proto/model/token_id.h"
#include "tests/reference/reference_model.h"

namespace scorecast::testing {

using proto::TokenId;

/// vocab_size of MakeModel, larger than the vocabulary of each tokenizer below.
inline constexpr std::int64_t kModelVocabSize = 720;
/// max_position_embeddings of MakeModel.
inline constexpr std::int64_t kModelPositions = 256;

/// Makes a small random model with one of the tokenizers of tests/coordinator/text/data, in a new
/// directory that is removed when the test program ends:
///   "digits"             byte-level BPE without BOS; ids 0, 1 and 2 are special tokens
///   "ignore-merges"      byte-level BPE with BOS 560; 562 is <|im_end|>
///   "sentencepiece-bpe"  SentencePiece with BOS 1; 2 is </s>
///   ""                   no tokenizer: the model takes ids only
/// Others work, too, if `vocab_size` is larger than their vocabulary.
/// `positions` is max_position_embeddings. The weights do not depend on it.
std::filesystem::path MakeModel(const std::string& tokenizer,
                                std::int64_t positions = kModelPositions,
                                std::int64_t vocab_size = kModelVocabSize);

/// Like MakeModel, but with a head for `classes` classes instead of the lm-head. The head has a
/// bias.
std::filesystem::path MakeClassifier(std::int64_t classes, const std::string& tokenizer = "");

/// MakeModel(""), but the embedding of `token` is all NaN.
std::filesystem::path MakeModelWithBrokenToken(TokenId token);

/// A text and the ids that the reference library gives for it.
struct TextVector {
  std::string text;
  std::vector<TokenId> ids;          ///< Without special tokens.
  std::vector<TokenId> ids_special;  ///< With the special tokens that the tokenizer adds.
};

/// Reads vectors.jsonl of a tokenizer of tests/coordinator/text/data.
std::vector<TextVector> TextVectors(const std::string& tokenizer);

/// The vector of `text`. Throws std::out_of_range if there is none.
TextVector VectorOf(const std::string& tokenizer, const std::string& text);

/// The oracle's log-probabilities over the vocabulary, [1 + items][vocab_size]: of the prefix's
/// last row, then of each item's last row behind that prefix.
std::vector<std::vector<double>> OracleRows(const reference::ReferenceModel& model,
                                            const std::vector<TokenId>& prefix,
                                            const std::vector<std::vector<TokenId>>& items);

std::filesystem::path FamilyDirectory(const std::string& family);

/// The trained model of ./demo.
std::filesystem::path DemoModelDirectory();

}  // namespace scorecast::testing
