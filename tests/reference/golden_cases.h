#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"
#include "tests/reference/packed_layout.h"

namespace scorecast::reference {

using proto::TokenId;
using TopLogProbs = std::vector<std::pair<TokenId, double>>;

/// The reference's results for one visibility. Row 0 is the last prefix row, row i + 1 is item i.
struct GoldenRows {
  std::vector<TokenId> prefix;                      ///< For `first`, it ends with the delimiter.
  std::vector<std::vector<double>> label_logprobs;  ///< [1 + items][labels]
  std::vector<TopLogProbs> top_logprobs;            ///< [1 + items][5]
};

/// One entry of `multi_item[]` of a family's golden.json.
struct MultiItemCase {
  std::vector<TokenId> query;
  std::vector<std::vector<TokenId>> items;
  std::vector<TokenId> label_token_ids;
  TokenId delimiter = 0;
  GoldenRows hidden;
  GoldenRows first;
};

/// One entry of `chunk_aware[]` of a family's golden.json.
struct ChunkAwareCase {
  std::vector<TokenId> system;
  std::vector<std::vector<TokenId>> chunks;
  std::vector<TokenId> question;
  PositionStrategy strategy = PositionStrategy::kShared;
  std::vector<std::size_t> groups;  ///< `chunk_groups`; if empty, each chunk is a group.
  double temperature = 1.0;         ///< `chunk_temperature`
  double scale = 1.0;               ///< `chunk_scale`
  std::vector<std::int32_t> positions;
  std::vector<TokenId> label_token_ids;
  std::vector<double> label_logprobs;  ///< [labels], for the question's last row
  TopLogProbs top_logprobs;            ///< [5], for the same row
  std::vector<TokenId> greedy;
  double smallest_greedy_margin = 0;  ///< Between the two best tokens, if `greedy` has any.
};

/// The case's chunks in their groups, each a group of its own if there are none: [groups][chunks].
std::vector<std::vector<std::vector<TokenId>>> GroupsOf(const ChunkAwareCase& golden);
proto::BlockWeighting WeightingOf(const ChunkAwareCase& golden);

/// The golden.json of `tests/golden/families/NAME`.
struct FamilyGolden {
  std::vector<MultiItemCase> multi_item;
  std::vector<ChunkAwareCase> chunk_aware;
};

FamilyGolden LoadFamilyGolden(const std::filesystem::path& model_dir);

/// One entry of `classifier[]` of a family's golden.json.
struct ClassifierCase {
  std::vector<TokenId> query;
  std::vector<std::vector<TokenId>> items;
  std::vector<std::vector<double>> class_logits;  ///< [items][classes]
};

/// The golden.json of a classifier, whose name in `tests/golden/families` ends with "-classifier".
std::vector<ClassifierCase> LoadClassifierGolden(const std::filesystem::path& model_dir);

/// One entry of `embedding[]` of an embedder's golden.json. The vectors of `pooled`, which may be
/// absent, are [hidden_size].
struct EmbeddingCase {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> types;  ///< [ids], or empty if all are 0.
  std::vector<double> cls;
  std::vector<double> max;
  std::vector<double> mean;
  std::vector<double> last;
  std::vector<double> embedding;  ///< What the directory's modules give.
};

/// The golden.json of an embedder, a directory in `tests/golden/encoders`.
std::vector<EmbeddingCase> LoadEmbeddingGolden(const std::filesystem::path& model_dir);

/// One entry of `classifier[]` of the golden.json of a classifier of whole texts and pairs.
struct TextClassifierCase {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> types;   ///< `token_type_ids`; empty: all 0.
  std::vector<double> class_logits;  ///< [classes]
};

std::vector<TextClassifierCase> LoadTextClassifierGolden(const std::filesystem::path& model_dir);

/// `hidden` of an encoder's golden.json.
struct HiddenCase {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> types;               ///< [ids], or empty if all are 0.
  std::vector<std::vector<double>> last_hidden;  ///< [ids][hidden_size]
};

HiddenCase LoadHiddenGolden(const std::filesystem::path& model_dir);

/// A text request with its ids: an entry of `multi_item[]` or `one_by_one[]` of the golden.json of
/// `shared/models/NAME`. The delimiter is hidden.
struct TextCase {
  std::string query;
  std::vector<std::string> items;
  std::vector<TokenId> label_token_ids;
  bool item_first = false;                         ///< one_by_one only
  std::vector<TokenId> query_ids;                  ///< multi_item only
  std::vector<std::vector<TokenId>> items_ids;     ///< multi_item only
  std::vector<std::vector<TokenId>> prompts_ids;   ///< one_by_one only
  std::vector<std::vector<double>> softmax;        ///< [items][labels], over the labels
  std::vector<std::vector<double>> probabilities;  ///< [items][labels], over the vocabulary
};

struct TextGolden {
  TokenId delimiter = 0;
  std::string delimiter_text;
  std::vector<TextCase> multi_item;
  std::vector<TextCase> one_by_one;
};

TextGolden LoadTextGolden(const std::filesystem::path& model_dir);

}  // namespace scorecast::reference
