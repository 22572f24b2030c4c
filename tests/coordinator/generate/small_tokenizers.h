#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/tokenizer_config.h"
#include "coordinator/text/tokenizer.h"
#include "coordinator/text/tokenizer_json.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {

/// Small tokenizers of tests/coordinator/text/data: SentencePiece, byte-level BPE, and BPE and
/// Unigram with each kind of decoder and without one.
inline std::vector<std::string> SmallTokenizers() {
  return {"sentencepiece-bpe",
          "sentencepiece-unigram",
          "added-tokens",
          "cased",
          "digits",
          "ignore-merges",
          "missing-bytes",
          "nfc",
          "prefix-space",
          "splits",
          "gemma",
          "llama2",
          "metaspace-always",
          "unigram-first",
          "unigram-precompiled",
          "unigram-never",
          "nfc-without-decoder",
          "llama2-without-decoder"};
}

inline std::unique_ptr<Tokenizer> SmallTokenizer(const std::string& name) {
  const std::filesystem::path data =
      std::filesystem::path(reference::kTestsDirectory) / "coordinator" / "text" / "data";
  const std::size_t end = name.find("-without-decoder");
  if (end == std::string::npos) {
    return LoadTokenizer(data / name);
  }
  const std::filesystem::path directory = data / name.substr(0, end);
  std::ifstream file(directory / "tokenizer.json");
  nlohmann::json document = nlohmann::json::parse(file);
  document["decoder"] = nullptr;
  return ReadTokenizerJson(document, LoadTokenizerConfig(directory), name);
}

/// The name of a test with a tokenizer's name as its parameter.
template <typename Info>
std::string NameOfTokenizer(const Info& info) {
  std::string name = info.param;
  for (char& c : name) {
    c = c == '-' ? '_' : c;
  }
  return name;
}

/// `all` without the whole characters at its beginning that it shares with `before`.
inline std::string TextAfter(const std::string& before, const std::string& all) {
  std::size_t shared = 0;
  // One character at a time: its first byte, then the bytes that continue it.
  while (shared < before.size() && shared < all.size()) {
    std::size_t end = shared + 1;
    while (end < all.size() && (static_cast<unsigned char>(all[end]) & 0xC0) == 0x80) {
      ++end;
    }
    if (before.compare(shared, end - shared, all, shared, end - shared) != 0) {
      break;
    }
    shared = end;
  }
  return all.substr(shared);
}

/// Token sequences that are hard to decode: texts, incomplete characters, special tokens, spaces,
/// and ids outside the vocabulary.
class HardTokens {
 public:
  HardTokens(const Tokenizer& tokenizer, unsigned seed) : tokenizer_(tokenizer), random_(seed) {
    for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
      const std::string text = tokenizer.Decode(std::vector<TokenId>{id});
      if (text.find("\uFFFD") != std::string::npos) {
        broken_.push_back(id);
      }
      if (text.find_first_not_of(' ') == std::string::npos) {
        blank_.push_back(id);
      }
    }
    for (const SpecialToken& token : tokenizer.special_tokens()) {
      special_.push_back(token.id);
    }
  }

  /// Up to `most` tokens, either of one kind or of all kinds.
  std::vector<TokenId> Next(std::size_t most) {
    const std::size_t size = Below(most + 1);
    const std::size_t only = Below(9);
    std::vector<TokenId> ids;
    while (ids.size() < size) {
      switch (only < 6 ? only : Below(6)) {
        case 0:
          ids.push_back(static_cast<TokenId>(Below(tokenizer_.vocab_size() + 4)) - 2);
          break;
        case 1:
          AddOneOf(broken_, ids);
          break;
        case 2:
          AddOneOf(special_, ids);
          break;
        case 3:
          AddOneOf(blank_, ids);
          break;
        case 4: {
          static const std::string kTexts[] = {
              "one two", " Zürich", "日本語", "👩‍👩‍👧 ok", "  x", "\uFFFD",
              "€",       "\n\n",    "1234"};
          const std::vector<TokenId> text = tokenizer_.Encode(kTexts[Below(std::size(kTexts))]);
          ids.insert(ids.end(), text.begin(), text.end());
          break;
        }
        case 5:
          AddBeginnings(ids);
          break;
      }
    }
    ids.resize(size);
    return ids;
  }

  std::size_t Below(std::size_t bound) { return random_() % bound; }

 private:
  /// Adds one of `some`, or an id outside the vocabulary if there are none.
  void AddOneOf(const std::vector<TokenId>& some, std::vector<TokenId>& ids) {
    ids.push_back(some.empty() ? -1 : some[Below(some.size())]);
  }

  /// Adds the beginning of a character again and again, so that bytes stay incomplete for long.
  /// Rarely adds the whole character, and sometimes tokens without text.
  void AddBeginnings(std::vector<TokenId>& ids) {
    const std::vector<TokenId> text = tokenizer_.Encode("x\U00010384");
    const std::size_t size = std::min<std::size_t>(text.size(), 4);
    for (int i = 0; i < 50; ++i) {
      const std::size_t drawn = Below(150);
      const std::size_t taken = drawn == 0 ? size : std::min(1 + drawn % 3, size);
      ids.insert(ids.end(), text.end() - size, text.end() - size + taken);
      if (drawn > 140) {
        ids.insert(ids.end(), Below(30), -1);
      }
    }
  }

  const Tokenizer& tokenizer_;
  std::mt19937 random_;
  std::vector<TokenId> broken_;
  std::vector<TokenId> special_;
  std::vector<TokenId> blank_;
};

}  // namespace scorecast::coordinator
