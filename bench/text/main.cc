// What it costs to tokenize a query with its items: items as continuations of the query, over items
// encoded alone.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/samples.h"
#include "coordinator/text/continued_text.h"
#include "coordinator/text/tokenizer.h"

namespace {

// A program of its own, so these directives affect no other file.
using namespace scorecast::bench;        // NOLINT(google-build-using-namespace)
using namespace scorecast::coordinator;  // NOLINT(google-build-using-namespace)

struct Flags {
  std::vector<std::filesystem::path> models;
  std::size_t query_tokens = 4000;
  std::size_t items = 128;
  std::size_t item_words = 20;
  int rounds = 21;
};

/// Words as in a prompt: numbers, punctuation, several scripts.
class RandomText {
 public:
  std::string Words(std::size_t count) {
    static const std::vector<std::string> words = {
        " the",   " harbour", " is",    " open",  " and", " every",  " boat",
        ",",      " has",     " a",     " light", " on",  " its",    " mast",
        ".",      " While",   " wind",  " comes", " 17",  " 2026",   " from",
        " naïve", " café",    " don't", "\n",     " 港",  " привет", " (west)"};
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
      text += words[std::uniform_int_distribution<std::size_t>(0, words.size() - 1)(random_)];
    }
    return text;
  }

  std::string Tokens(const Tokenizer& tokenizer, std::size_t count) {
    std::string text;
    while (tokenizer.Encode(text).size() < count) {
      text += Words(count / 10 + 1);
    }
    return text;
  }

 private:
  std::mt19937 random_{1};
};

double Milliseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// Sums up the tokens, so that no work is left out.
template <typename Work>
double Timed(std::size_t& tokens, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  tokens += work();
  return Milliseconds(std::chrono::steady_clock::now() - begin);
}

void Measure(const std::filesystem::path& model, const Flags& flags) {
  const std::unique_ptr<Tokenizer> tokenizer = LoadTokenizer(model);
  if (tokenizer == nullptr) {
    throw std::runtime_error(model.string() + " has no tokenizer");
  }
  RandomText random;
  const std::string query = random.Tokens(*tokenizer, flags.query_tokens);
  std::vector<std::string> items;
  for (std::size_t i = 0; i < flags.items; ++i) {
    items.push_back(random.Words(flags.item_words));
  }
  Samples alone;
  Samples continued;
  Samples ratio;
  std::size_t tokens = 0;
  for (int round = 0; round < flags.rounds; ++round) {
    alone.values.push_back(Timed(tokens, [&] {
      std::size_t count =
          EncodeFromStart({}, *tokenizer, query, SpecialTokensInText::kAllow).value().size();
      for (const std::string& item : items) {
        count += tokenizer->Encode(item).size();
      }
      return count;
    }));
    continued.values.push_back(Timed(tokens, [&] {
      const ContinuedText text =
          ContinuedText::Make(*tokenizer, query, SpecialTokensInText::kAllow).value();
      std::size_t count = text.ids().size();
      for (const std::string& item : items) {
        count += text.certain_tokens() + text.ContinueTail(item).value().size();
      }
      return count;
    }));
    ratio.values.push_back(continued.values.back() / alone.values.back());
  }
  std::printf("| %s | %zu + %zu x %zu | %s | %s | %s |\n", model.filename().string().c_str(),
              tokenizer->Encode(query).size(), flags.items, tokenizer->Encode(items[0]).size(),
              Spread(alone, 2).c_str(), Spread(continued, 2).c_str(), Spread(ratio, 2).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Cost of tokenizing items as continuations of their query");
  Flags flags;
  app.add_option("--model", flags.models, "Directories with a tokenizer")->required();
  app.add_option("--query-tokens", flags.query_tokens, "Tokens of the query, at least")
      ->capture_default_str();
  app.add_option("--items", flags.items, "Items of the request")->capture_default_str();
  app.add_option("--item-words", flags.item_words, "Words of an item")->capture_default_str();
  app.add_option("--rounds", flags.rounds, "Measurements")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    std::printf(
        "| tokenizer | tokens | alone, ms | continued, ms | continued / alone |\n"
        "|---|---|---|---|---|\n");
    for (const std::filesystem::path& model : flags.models) {
      Measure(model, flags);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
