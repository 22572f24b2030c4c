#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/text/tokenizer.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {

inline const std::filesystem::path kOwn =
    std::filesystem::path(reference::kTestsDirectory) / "coordinator" / "text" / "data";
/// Its model removes extra spaces.
inline const std::filesystem::path kDemo =
    std::filesystem::path(reference::kTestsDirectory) / "demo_model";
inline const std::filesystem::path kShared =
    std::filesystem::path(reference::kSharedDirectory) / "golden" / "tokenizers";

/// A directory with a tokenizer. Tests print its name, because the path depends on the machine.
struct TokenizerDirectory {
  std::string name() const { return path.filename().string(); }

  std::filesystem::path path;
};

inline void PrintTo(const TokenizerDirectory& directory, std::ostream* out) {
  *out << directory.name();
}

/// The tokenizers of the tests, and real ones if they are there.
inline std::vector<TokenizerDirectory> TokenizerDirectories() {
  std::vector<TokenizerDirectory> directories;
  for (const std::filesystem::path& root : {kOwn, kDemo, kShared}) {
    if (!std::filesystem::exists(root)) {
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (std::filesystem::exists(entry.path() / "tokenizer.json") ||
          std::filesystem::exists(entry.path() / "tokenizer.model")) {
        directories.push_back({entry.path()});
      }
    }
  }
  std::ranges::sort(directories, {}, &TokenizerDirectory::path);
  return directories;
}

/// Parts of which texts are put together: words, spaces, digits, characters that combine, and
/// whatever tokenizers treat in a special way.
inline constexpr std::array kParts = std::to_array<std::string_view>({"a",
                                                                      "b",
                                                                      "the",
                                                                      "harbour",
                                                                      " the",
                                                                      " sea",
                                                                      "ing",
                                                                      "'s",
                                                                      "'",
                                                                      "don't",
                                                                      "I'LL",
                                                                      " ",
                                                                      "  ",
                                                                      "   ",
                                                                      "\t",
                                                                      "\n",
                                                                      "\n\n",
                                                                      "\r\n",
                                                                      "\r",
                                                                      " \n",
                                                                      "0",
                                                                      "7",
                                                                      "12",
                                                                      "345",
                                                                      "1,000.5",
                                                                      ".",
                                                                      ",",
                                                                      "...",
                                                                      "!?",
                                                                      "-",
                                                                      "(",
                                                                      ")",
                                                                      "é",
                                                                      "e",
                                                                      "\u0301",
                                                                      "\u0323",
                                                                      "\u0327",
                                                                      "ﬁ",
                                                                      "Å",
                                                                      "\u1100",
                                                                      "\u1161",
                                                                      "\u11A8",
                                                                      "각",
                                                                      "가",
                                                                      "か",
                                                                      "\u3099",
                                                                      "ガ",
                                                                      "\uFF76",
                                                                      "\uFF9E",
                                                                      "海",
                                                                      "港",
                                                                      "。",
                                                                      "日本語",
                                                                      "的",
                                                                      "Я",
                                                                      "привет",
                                                                      "\u0627",
                                                                      "\u0644",
                                                                      "\u0915",
                                                                      "\u094D",
                                                                      "\u0937",
                                                                      "\u09BE",
                                                                      "ไทย",
                                                                      "😀",
                                                                      "👩\u200D👩\u200D👧",
                                                                      "🇩🇪",
                                                                      "\U0001F1E9",
                                                                      "\U0001F3FD",
                                                                      "\u200D",
                                                                      "\uFE0F",
                                                                      "\u00A0",
                                                                      "\u3000",
                                                                      "\u2028",
                                                                      "\u0085",
                                                                      "\u200B",
                                                                      "\u0001",
                                                                      "\u007F",
                                                                      "▁",
                                                                      "▁▁",
                                                                      " ▁",
                                                                      "<",
                                                                      "<|",
                                                                      "<|im_",
                                                                      "<|im_end|>",
                                                                      "<|im_start|>",
                                                                      "<|endoftext|>",
                                                                      "|>",
                                                                      "</s>",
                                                                      "<s>",
                                                                      "</",
                                                                      "s>",
                                                                      "<unk>",
                                                                      "<0x41>",
                                                                      "[INST]",
                                                                      "[",
                                                                      "<|eot_id|>",
                                                                      "_",
                                                                      "x_y"});

/// Random texts for a tokenizer.
class Texts {
 public:
  explicit Texts(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    for (const SpecialToken& token : tokenizer.special_tokens()) {
      special_.push_back(token.text);
    }
  }

  std::string Next(std::size_t most_parts) {
    std::string text;
    for (std::size_t i = Below(most_parts + 1); i > 0; --i) {
      text += Part();
    }
    return text;
  }

  std::size_t Below(std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_);
  }

 private:
  std::string Part() {
    switch (Below(4)) {
      case 0: {  // A token of the vocabulary: its neighbours often merge with it.
        const auto id =
            static_cast<TokenId>(Below(static_cast<std::size_t>(tokenizer_.vocab_size())));
        return tokenizer_.Decode(std::vector<TokenId>{id});
      }
      case 1:
        if (!special_.empty() && Below(3) == 0) {
          return special_[Below(special_.size())];
        }
        [[fallthrough]];
      default:
        return std::string(kParts[Below(kParts.size())]);
    }
  }

  const Tokenizer& tokenizer_;
  std::vector<std::string> special_;
  std::mt19937 random_{20261122};
};

/// The code points' ends of a text.
inline std::vector<std::size_t> Borders(std::string_view text) {
  std::vector<std::size_t> borders;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      borders.push_back(i);
    }
  }
  return borders;
}

inline std::string NameOfTokenizer(const testing::TestParamInfo<TokenizerDirectory>& info) {
  std::string name = info.param.name();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace scorecast::coordinator
