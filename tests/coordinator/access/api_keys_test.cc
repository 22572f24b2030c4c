// Who is let in with a key, and how keys come and go with their file.

#include "coordinator/access/api_keys.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/access/file_watch.h"
#include "proto/base/error.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/e2e/eventually.h"

namespace scorecast::coordinator {
namespace api_keys_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Clock::time_point kNow{std::chrono::hours(1)};

/// The name of the holder who is let in now with the key, or the code of the refusal.
std::string LetIn(const ApiKeys& keys, const std::string& key, Clock::time_point now = kNow) {
  const auto found = keys.Find({key});
  const auto in = found ? keys.LetIn(*found, "model", now) : found;
  return in ? (*in)->key.name : std::to_string(in.error().code);
}

TEST(ApiKeys, OnlyHoldersOfKeysAreLetIn) {
  const KeysFile file(KeysFile::Alice() + KeysFile::Bob());
  const ApiKeys keys(file.path());
  EXPECT_EQ(LetIn(keys, kAlice), "alice");
  EXPECT_EQ(LetIn(keys, kBob), "bob");
  for (const std::string& wrong :
       {std::string(), std::string("sk-alice-012345678"), std::string(kAlice) + " ",
        std::string(1000, 'x'), std::string("alice")}) {
    EXPECT_EQ(LetIn(keys, wrong), "401") << wrong;
  }
  const auto found = keys.Find({"", "wrong", kBob});
  ASSERT_TRUE(found) << "one of several that is right is enough";
  EXPECT_EQ((*found)->key.name, "bob");
  EXPECT_EQ(keys.Find({"1", "2", "3", "4", kBob}).error().code, 401) << "not any number of them";
  EXPECT_THAT(keys.Find({}).error().message, HasSubstr("needs an API key"));
  EXPECT_THAT(keys.Find({"wrong"}).error().message, Not(HasSubstr("needs an API key")));
  EXPECT_EQ(keys.LetIn(nullptr, "model", kNow).error().code, 401);
}

TEST(ApiKeys, AFaultOfTheFileIsOneLine) {
  const KeysFile file(KeysFile::Alice() + "bob\n");
  try {
    const ApiKeys keys(file.path());
    ADD_FAILURE() << "must throw";
  } catch (const proto::StartupError& fault) {
    EXPECT_EQ(fault.what(), "--api-keys " + file.path().string() +
                                ": line 2: a name stands alone, without a key");
  }
  EXPECT_THROW(ApiKeys(file.path().parent_path() / "missing"), proto::StartupError);
  EXPECT_THROW(ApiKeys(file.path().parent_path()), proto::StartupError) << "a directory";
}

TEST(ApiKeys, AFileThatIsReadAgainRevokesKeys) {
  const KeysFile file(KeysFile::Alice() + KeysFile::Bob());
  ApiKeys keys(file.path());
  const Holder alice = *keys.Find({kAlice});
  EXPECT_FALSE(keys.HasFileChanged());
  file.Write(KeysFile::Bob() + "carol sk-carol-0123456789\n");
  EXPECT_TRUE(keys.HasFileChanged());
  EXPECT_EQ(LetIn(keys, kAlice), "alice") << "not read yet";
  const auto changes = keys.Reload();
  ASSERT_TRUE(changes);
  EXPECT_EQ(changes->keys, 2U);
  EXPECT_EQ(changes->added, 1U);
  EXPECT_EQ(changes->revoked, 1U);
  EXPECT_FALSE(keys.HasFileChanged());
  const auto again = keys.Reload();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->keys, 2U);
  EXPECT_EQ(again->added + again->revoked, 0U) << "it has not changed";
  EXPECT_EQ(LetIn(keys, kAlice), "401");
  EXPECT_EQ(keys.LetIn(alice, "model", kNow).error().code, 401) << "of an open connection";
  EXPECT_EQ(LetIn(keys, "sk-carol-0123456789"), "carol");
}

TEST(ApiKeys, ABrokenFileKeepsTheKeys) {
  const KeysFile file(KeysFile::Alice());
  ApiKeys keys(file.path());
  for (const std::string& broken : {KeysFile::Alice() + "bob\n", std::string()}) {
    file.Write(broken);
    const auto changes = keys.Reload();
    ASSERT_FALSE(changes);
    EXPECT_THAT(changes.error(), HasSubstr("the keys stay as they were"));
    EXPECT_FALSE(keys.HasFileChanged()) << "it is not read again until it changes";
    EXPECT_EQ(keys.Reload().error(), changes.error()) << "it still has its fault";
    EXPECT_EQ(LetIn(keys, kAlice), "alice");
  }
  std::filesystem::remove(file.path());
  EXPECT_TRUE(keys.HasFileChanged());
  EXPECT_FALSE(keys.Reload());
  EXPECT_EQ(LetIn(keys, kAlice), "alice");
  file.Write(KeysFile::Bob());
  EXPECT_TRUE(keys.Reload());
  EXPECT_EQ(LetIn(keys, kAlice), "401");
}

TEST(ApiKeys, TheWatchReadsAFileThatChanges) {
  const KeysFile file(KeysFile::Alice());
  ApiKeys keys(file.path());
  const FileWatch watch({[&] { static_cast<void>(keys.Reload()); }}, std::chrono::milliseconds(5));
  file.Write(KeysFile::Bob());
  EXPECT_TRUE(scorecast::testing::Eventually(
      [&] { return LetIn(keys, kBob) == "bob" && LetIn(keys, kAlice) == "401"; }));
}

TEST(ApiKeys, RequestsPerMinuteAreThoseOfAnySixtySeconds) {
  const KeysFile file(KeysFile::Alice("requests_per_minute: 3") + KeysFile::Bob());
  ApiKeys keys(file.path());
  const auto at = [](int seconds) { return kNow + std::chrono::seconds(seconds); };
  EXPECT_EQ(LetIn(keys, kAlice, at(0)), "alice");
  EXPECT_EQ(LetIn(keys, kAlice, at(40)), "alice");
  EXPECT_EQ(LetIn(keys, kAlice, at(50)), "alice");
  const auto refused = keys.LetIn(*keys.Find({kAlice}), "model", at(51));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 429);
  EXPECT_EQ(refused.error().reason, "rate_limit_exceeded");
  EXPECT_EQ(refused.error().retry_after_seconds, 9) << "the first one is then a minute ago";
  EXPECT_EQ(LetIn(keys, kBob, at(51)), "bob");
  EXPECT_EQ(LetIn(keys, kAlice, at(60)), "alice");
  EXPECT_EQ(LetIn(keys, kAlice, at(61)), "429") << "refused requests do not count";
  file.Write(KeysFile::Alice("requests_per_minute: 1"));
  ASSERT_TRUE(keys.Reload());
  EXPECT_EQ(keys.LetIn(*keys.Find({kAlice}), "model", at(61)).error().retry_after_seconds, 59)
      << "the window goes on";
}

TEST(ApiKeys, AKeyMayBeForSomeModelsOnly) {
  const KeysFile file(KeysFile::Alice("models: a,b"));
  const ApiKeys keys(file.path());
  const Holder alice = *keys.Find({kAlice});
  EXPECT_TRUE(keys.LetIn(alice, "b", kNow));
  const auto refused = keys.LetIn(alice, "c", kNow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 403);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("alice"), HasSubstr("\"c\"")));
}

TEST(ApiKeys, SaltsAreTheHoldersOwnUnlessTheyShare) {
  const KeysFile file(KeysFile::Alice() + KeysFile::Bob() +
                      "c sk-carol-0123456789 salt: shared\nd sk-david-0123456789 salt: shared");
  const ApiKeys keys(file.path());
  const auto salt = [&](const std::string& key, const std::string& of_request) {
    return (*keys.Find({key}))->CacheSalt(of_request);
  };
  const std::string c = "sk-carol-0123456789";
  const std::string d = "sk-david-0123456789";
  EXPECT_NE(salt(kAlice, ""), salt(kBob, ""));
  EXPECT_NE(salt(kAlice, ""), salt(kAlice, "x"));
  EXPECT_EQ(salt(kAlice, "x"), salt(kAlice, "x"));
  EXPECT_EQ(salt(c, ""), salt(d, ""));
  EXPECT_EQ(salt(c, "x"), salt(d, "x"));
  EXPECT_NE(salt(c, ""), salt(d, "x"));
  for (const std::string& of_alice : {salt(kAlice, ""), salt(kAlice, "x")}) {
    EXPECT_NE(salt(c, of_alice), of_alice) << "no request can name another's salt";
    EXPECT_NE(salt(kBob, of_alice), of_alice);
  }
}

}  // namespace api_keys_test
}  // namespace scorecast::coordinator
