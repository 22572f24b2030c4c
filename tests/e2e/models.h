#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "proto/model/model_config.h"
#include "tests/reference/reference_model.h"

namespace scorecast::testing {

using proto::TokenId;

/// vocab_size of MakeModel, more than any of the tokenizers has.
inline constexpr std::int64_t kModelVocabSize = 720;
/// max_position_embeddings of MakeModel.
inline constexpr std::int64_t kModelPositions = 256;

/// A small random model with one of the tokenizers of tests/coordinator/text/data, made anew in a
/// directory that lives as long as the test program:
///   "digits"             byte-level BPE without BOS; ids 0, 1 and 2 are special tokens
///   "ignore-merges"      byte-level BPE with BOS 560; 562 is <|im_end|>
///   "sentencepiece-bpe"  SentencePiece with BOS 1; 2 is </s>
///   ""                   none: the model takes ids only
/// `positions` is its max_position_embeddings, on which nothing in its weights depends.
std::filesystem::path MakeModel(const std::string& tokenizer,
                                std::int64_t positions = kModelPositions);

/// MakeModel(""), of which every number of one token's embedding is a NaN.
std::filesystem::path MakeModelWithBrokenToken(TokenId token);

/// A text and the ids that the reference library gives for it.
struct TextVector {
  std::string text;
  std::vector<TokenId> ids;          ///< Nothing added.
  std::vector<TokenId> ids_special;  ///< With what the tokenizer's rule adds.
};

/// vectors.jsonl of a tokenizer of tests/coordinator/text/data.
std::vector<TextVector> TextVectors(const std::string& tokenizer);

/// The one of a text. Throws std::out_of_range.
TextVector VectorOf(const std::string& tokenizer, const std::string& text);

/// Log-probabilities over the vocabulary: the oracle's, of a prefix's last row, then of each item's
/// last row behind that prefix: [1 + items][vocab_size].
std::vector<std::vector<double>> OracleRows(const reference::ReferenceModel& model,
                                            const std::vector<TokenId>& prefix,
                                            const std::vector<std::vector<TokenId>>& items);

std::filesystem::path FamilyDirectory(const std::string& family);

/// The trained model of ./demo.
std::filesystem::path DemoModelDirectory();

}  // namespace scorecast::testing
