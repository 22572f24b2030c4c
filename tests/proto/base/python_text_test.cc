// Numbers against what Python writes: tests/golden/make/python_texts.py.

#include "proto/base/python_text.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/base/digest.h"
#include "tests/reference/directories.h"

namespace scorecast::proto {
namespace python_text_test {

nlohmann::json Golden() {
  return nlohmann::json::parse(std::ifstream(std::filesystem::path(reference::kTestsDirectory) /
                                             "golden" / "python_texts.json"));
}

std::string Hex(std::uint64_t digest) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(digest));
  return text;
}

TEST(PythonText, NumbersAreThoseOfPython) {
  const nlohmann::json golden = Golden();
  for (const nlohmann::json& sample : golden.at("samples")) {
    const double number =
        std::bit_cast<double>(std::uint64_t{std::stoull(sample.at(0).get<std::string>())});
    EXPECT_EQ(PythonText(number), sample.at(1).get<std::string>());
  }
  EXPECT_EQ(PythonText(INFINITY), "inf");
  EXPECT_EQ(PythonText(-INFINITY), "-inf");
  EXPECT_EQ(PythonText(NAN), "nan");
}

TEST(PythonText, AMillionRandomNumbersAreThoseOfPython) {
  constexpr int kBlock = 100'000;
  const nlohmann::json golden = Golden();
  ASSERT_EQ(golden.at("random").size(), 10U);
  std::uint64_t state = 0;
  for (const nlohmann::json& block : golden.at("random")) {
    std::string texts;
    for (int i = 0; i < kBlock; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      const double number = std::bit_cast<double>(state);
      texts += std::isfinite(number) ? PythonText(number) + "\n" : "";
    }
    EXPECT_EQ(Hex(DigestOf(texts)), block.get<std::string>());
  }
}

TEST(PythonText, MultiplesOfAHundredThousandthAreThoseOfPython) {
  std::string texts;
  for (int i = 0; i < 1'000'000; ++i) {
    texts += PythonText(i / 100'000.0) + "\n";
  }
  EXPECT_EQ(Hex(DigestOf(texts)), Golden().at("multiples").get<std::string>());
}

}  // namespace python_text_test
}  // namespace scorecast::proto
