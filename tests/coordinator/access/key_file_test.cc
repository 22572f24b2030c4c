// The lines of a file of keys, and what is wrong with them. The digests are those of sha256sum.

#include "coordinator/access/key_file.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace key_file_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kKey[] = "sk-test-key-0123456789";
constexpr char kDigest[] = "ae9a4bb8b08b4bee3853dbf1295f2b07758da3280477141bdef5865a69fb4955";

std::string FaultOf(const std::string& text) {
  const auto file = ParseKeyFile(text);
  return file ? "none" : file.error();
}

TEST(KeyFile, HasAKeyOrItsDigest) {
  EXPECT_EQ(KeyDigest::Of(kKey).ToHex(), kDigest);
  const auto plain = ParseKeyFile(std::string("alice ") + kKey);
  const auto hashed = ParseKeyFile(std::string("alice\tsha256:") + kDigest + "\r\n");
  ASSERT_TRUE(plain && hashed);
  EXPECT_EQ(plain->keys, hashed->keys);
  EXPECT_EQ(plain->keys.at(0), (ApiKey{"alice", KeyDigest::Of(kKey), {}}));
  EXPECT_TRUE(plain->has_plain_keys);
  EXPECT_FALSE(hashed->has_plain_keys);
}

TEST(KeyFile, HasLimitsBehindTheKey) {
  const auto file = ParseKeyFile(
      "# Who may use the service.\n\n"
      "  alice sk-alice-0123456789 requests_per_minute: 600 waiting_tokens:200000 priority: -5\n"
      "bob.2 sk-bob-0123456789ab models: reranker,qwen3 salt: shared\n");
  ASSERT_TRUE(file) << file.error();
  ASSERT_EQ(file->keys.size(), 2U);
  EXPECT_EQ(file->keys[0].limits, (KeyLimits{600, 200000, -5, {}, false}));
  EXPECT_EQ(file->keys[1].name, "bob.2");
  EXPECT_THAT(file->keys[1].limits.models, ElementsAre("reranker", "qwen3"));
  EXPECT_TRUE(file->keys[1].limits.shares_cache);
}

TEST(KeyFile, IsRefusedWithTheLineAndWithoutTheKey) {
  const std::string good = std::string("alice ") + kKey + "\n";
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"1alice " + std::string(kKey), "\"1alice\" is no name of a key"},
      {"al:ice " + std::string(kKey), "is no name of a key"},
      {"bob", "a name stands alone, without a key"},
      {"sk-secret-0123456789", "a name stands alone, without a key"},
      {"0sk-secret-0123456789", "a word of 21 bytes is no name of a key"},
      {"other sk-bob-0123456789ab", "\"other\" is no name of a key: metrics"},
      {"bob short", "the key has 5 characters, not 16 to 512"},
      {"bob sk-umlaut-0123\xc3\xa4"
       "56789",
       "not visible ASCII"},
      {"bob sha256:" + std::string(kDigest).substr(1), "64 hexadecimal digits"},
      {"bob sha256:g" + std::string(kDigest).substr(1), "64 hexadecimal digits"},
      {"bob sk-bob-0123456789ab limit: 5", "\"limit:\" is no limit of a key: there are "},
      {"bob sk-bob-0123456789ab salt", "a word without a colon is no limit of a key"},
      {"bob sk-bob-0123456789ab sk-second-0123456789", "a word without a colon is no limit"},
      {"bob sk-bob-0123456789ab sk-second-0123456789:", "a word of 21 bytes is no limit"},
      {"bob sk-bob-0123456789ab salt: sk-second-0123456789", "not a word of 20 bytes"},
      {"bob sk-bob-0123456789ab priority: sk-second-0123456789", "not a word of 20 bytes"},
      {"bob sk-bob-0123456789ab salt: own", "salt: may only be shared, not \"own\""},
      {"bob sk-bob-0123456789ab priority: 11", "priority: is a number from -10 to 10, not \"11\""},
      {"bob sk-bob-0123456789ab requests_per_minute: 0", "is a number from 1 to"},
      {"bob sk-bob-0123456789ab waiting_tokens:", "waiting_tokens: has no value"},
      {"bob sk-bob-0123456789ab models: ,", "models: names no model"},
      {"bob sk-bob-0123456789ab priority: 1 priority: 2", "priority: is given twice"},
      {"alice sk-bob-0123456789ab", "the name, \"alice\", is that of line 1"},
      {"bob sha256:" + std::string(kDigest), "the key is that of line 1"},
  };
  for (const auto& [line, fault] : faults) {
    const std::string found = FaultOf(good + line + "\n");
    EXPECT_THAT(found, StartsWith("line 2: ")) << line;
    EXPECT_THAT(found, HasSubstr(fault)) << line;
    EXPECT_THAT(found, Not(HasSubstr("sk-"))) << "keys are secret";
    EXPECT_THAT(found, Not(HasSubstr("\n")));
  }
  EXPECT_EQ(FaultOf("# none\n\n"), "there is no key in it") << "perhaps it is being written";
}

TEST(KeyFile, TakesWhatKeyNewPrints) {
  std::set<std::string> keys;
  for (int i = 0; i < 20; ++i) {
    const std::string key = NewKey();
    EXPECT_EQ(key.size(), 3U + 43U) << "256 bits, six a character";
    keys.insert(key);
    const auto file = ParseKeyFile(KeyLine("alice", KeyDigest::Of(key)) + "\n");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->keys[0], ParseKeyFile("alice " + key)->keys[0]);
  }
  EXPECT_EQ(keys.size(), 20U);
}

}  // namespace key_file_test
}  // namespace scorecast::coordinator
