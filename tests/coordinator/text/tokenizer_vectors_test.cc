// Every tokenizer against the output of the reference library: small tokenizers of our own, and
// real vocabularies if the shared reference data is available.

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/text/tokenizer.h"
#include "tests/coordinator/text/json_lines.h"
#include "tests/coordinator/text/loaded_tokenizer.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace tokenizer_vectors_test {

using Ids = std::vector<TokenId>;
const std::filesystem::path kOwn =
    std::filesystem::path(reference::kTestsDirectory) / "coordinator" / "text" / "data";
const std::filesystem::path kShared =
    std::filesystem::path(reference::kSharedDirectory) / "golden" / "tokenizers";

const std::filesystem::path kOwnEncoders = kOwn / "encoders";
const std::filesystem::path kEncoders =
    std::filesystem::path(reference::kSharedDirectory) / "golden" / "encoders" / "tokenizers";

/// A directory by name, below one of the roots.
struct Source {
  const std::filesystem::path* root;
  std::string name;
};

bool IsShared(const Source& source) { return source.root != &kOwn && source.root != &kOwnEncoders; }

void PrintTo(const Source& source, std::ostream* out) {
  *out << (IsShared(source) ? "shared " : "") << source.name;
}

/// Tokenizers of the kinds that encoders have.
const std::vector<std::string> kSomeEncoders = {"modernbert",           "roberta",
                                                "wordpiece-accents",    "wordpiece-cased",
                                                "wordpiece-uncased",    "wordpiece-vocab-txt",
                                                "xlm-roberta-converted"};
const std::vector<std::string> kAllEncoders = {"gemma-bos-eos",
                                               "llama3-bos",
                                               "modernbert",
                                               "qwen3-embedding",
                                               "roberta",
                                               "wordpiece-cased",
                                               "wordpiece-accents",
                                               "wordpiece-uncased",
                                               "wordpiece-vocab-txt",
                                               "xlm-roberta",
                                               "xlm-roberta-converted"};
/// Tokenizers of make_tokenizers.py and of make_pipelines.py.
const std::vector<std::string> kFirstTokenizers = {
    "added-tokens",          "cased", "digits",       "ignore-merges",
    "missing-bytes",         "nfc",   "prefix-space", "sentencepiece-bpe",
    "sentencepiece-unigram", "splits"};
const std::vector<std::string> kPipelines = {
    "byte-word-ends", "first-after-steps",   "gemma",     "llama2",
    "llama2-flags",   "metaspace-always",    "mistral",   "unigram-first",
    "unigram-never",  "unigram-precompiled", "word-ends", "words"};

std::vector<Source> In(const std::filesystem::path& root, const std::vector<std::string>& names) {
  std::vector<Source> sources;
  for (const std::string& name : names) {
    sources.push_back({&root, name});
  }
  return sources;
}

std::vector<Source> Own(const std::vector<std::string>& names) { return In(kOwn, names); }

class TokenizerVectors : public testing::TestWithParam<Source> {
 protected:
  void SetUp() override {
    directory_ = *GetParam().root / GetParam().name;
    if (IsShared(GetParam()) && !std::filesystem::exists(directory_)) {
      GTEST_SKIP() << "no reference data: " << directory_;
    }
    tokenizer_ = LoadedTokenizer(directory_);
    ASSERT_NE(tokenizer_, nullptr);
  }

  std::filesystem::path directory_;
  const Tokenizer* tokenizer_ = nullptr;
};

TEST_P(TokenizerVectors, TextsGiveTheReferencesIdsAndComeBack) {
  const std::vector<nlohmann::json> vectors = ReadJsonLines(directory_ / "vectors.jsonl");
  ASSERT_GE(vectors.size(), 60u);
  for (const nlohmann::json& vector : vectors) {
    SCOPED_TRACE(vector["text"].dump());
    const std::string text = vector["text"];
    EXPECT_EQ(tokenizer_->Encode(text), vector["ids"].get<Ids>());
    EXPECT_EQ(tokenizer_->EncodeWithAdded(text), vector["ids_special"].get<Ids>());
    EXPECT_EQ(tokenizer_->Decode(vector["ids"].get<Ids>()), vector["decoded"].get<std::string>());
  }
}

TEST_P(TokenizerVectors, KnowsWhichTextsAreOneToken) {
  for (const nlohmann::json& single : ReadJsonLines(directory_ / "single.jsonl")) {
    SCOPED_TRACE(single["text"].dump());
    const std::optional<TokenId> id = tokenizer_->SingleToken(single["text"].get<std::string>());
    EXPECT_EQ(id ? nlohmann::json(*id) : nlohmann::json(), single["id"]);
  }
}

std::string NameOf(const testing::TestParamInfo<Source>& info) {
  std::string name = (IsShared(info.param) ? "shared_" : "") + info.param.name;
  for (char& c : name) {
    c = c == '-' ? '_' : c;
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Own, TokenizerVectors, testing::ValuesIn(Own(kFirstTokenizers)), NameOf);
INSTANTIATE_TEST_SUITE_P(Pipelines, TokenizerVectors, testing::ValuesIn(Own(kPipelines)), NameOf);
INSTANTIATE_TEST_SUITE_P(Real, TokenizerVectors,
                         testing::Values(Source{&kShared, "llama3"}, Source{&kShared, "qwen3"},
                                         Source{&kShared, "llama2-sentencepiece"}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Encoders, TokenizerVectors,
                         testing::ValuesIn(In(kOwnEncoders, kSomeEncoders)), NameOf);
INSTANTIATE_TEST_SUITE_P(SharedEncoders, TokenizerVectors,
                         testing::ValuesIn(In(kEncoders, kAllEncoders)), NameOf);

class OwnTokenizer : public TokenizerVectors {};

TEST_P(OwnTokenizer, DecodesIdsThatAreCutInsideCharacters) {
  for (const nlohmann::json& record : ReadJsonLines(directory_ / "decode.jsonl")) {
    const Ids ids = record["ids"];
    EXPECT_EQ(tokenizer_->Decode(ids), record["decoded"].get<std::string>()) << record["ids"];
  }
}

TEST_P(OwnTokenizer, IdsOutsideTheVocabularyGiveNothing) {
  const auto outside = static_cast<TokenId>(tokenizer_->vocab_size());
  EXPECT_EQ(tokenizer_->Decode(Ids{-1, outside, INT32_MAX, INT32_MIN}), "");
}

INSTANTIATE_TEST_SUITE_P(Own, OwnTokenizer, testing::ValuesIn(Own(kFirstTokenizers)), NameOf);
INSTANTIATE_TEST_SUITE_P(Pipelines, OwnTokenizer, testing::ValuesIn(Own(kPipelines)), NameOf);

template <typename Values>
std::uint32_t HashOf(const Values& values) {
  std::uint32_t hash = 0;
  for (const auto value : values) {
    hash = hash * 31 + static_cast<std::uint32_t>(value);
  }
  return hash;
}

class ThousandTexts : public TokenizerVectors {};

TEST_P(ThousandTexts, GiveTheReferencesIdsAndText) {
  const std::vector<nlohmann::json> texts = ReadJsonLines(kOwn / "texts.jsonl");
  const std::vector<nlohmann::json> expected = ReadJsonLines(directory_ / "ids.jsonl");
  ASSERT_EQ(texts.size(), 1000u);
  ASSERT_EQ(expected.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE(texts[i].dump());
    const Ids ids = expected[i]["ids"];
    EXPECT_EQ(tokenizer_->Encode(texts[i].get<std::string>()), ids);
    const std::string decoded = tokenizer_->Decode(ids);
    EXPECT_EQ(HashOf(std::vector<unsigned char>(decoded.begin(), decoded.end())),
              expected[i]["hash"].get<std::uint32_t>())
        << decoded;
  }
}

INSTANTIATE_TEST_SUITE_P(Pipelines, ThousandTexts, testing::ValuesIn(Own(kPipelines)), NameOf);

class LongTexts : public TokenizerVectors {};

// A megabyte in one piece: anything quadratic would exceed the time limit.
TEST_P(LongTexts, AMegabyteGivesTheReferencesIdsAndComesBack) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the time limit is for a build without sanitizers";
#endif
  const std::vector<nlohmann::json> records = ReadJsonLines(directory_ / "long.jsonl");
  ASSERT_GE(records.size(), 10u);
  for (const nlohmann::json& record : records) {
    SCOPED_TRACE(record.dump());
    const std::string unit = record["unit"];
    std::string text;
    for (int i = 0; i < record["repeats"]; ++i) {
      text += unit;
    }
    const Ids ids = tokenizer_->Encode(text);
    EXPECT_EQ(ids.size(), record["count"].get<std::size_t>());
    EXPECT_EQ(HashOf(ids), record["hash"].get<std::uint32_t>());
    // A normalizer changes some texts.
    EXPECT_EQ(tokenizer_->Decode(ids) == text, !record.value("lossy", false));
  }
}

INSTANTIATE_TEST_SUITE_P(Own, LongTexts,
                         testing::ValuesIn(Own({"digits", "gemma", "ignore-merges", "llama2", "nfc",
                                                "sentencepiece-bpe", "unigram-never",
                                                "unigram-precompiled"})),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(Encoders, LongTexts,
                         testing::ValuesIn(In(kOwnEncoders, {"roberta", "wordpiece-uncased"})),
                         NameOf);

}  // namespace tokenizer_vectors_test
}  // namespace scorecast::coordinator
