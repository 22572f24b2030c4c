// Texts and pairs that become messages: what is rendered, cut and written back.

#include "coordinator/chat/text_messages.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "tests/coordinator/fake_tokenizer.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace text_messages_test {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Format = MessageRules::Format;
using Strategy = Truncation::Strategy;

/// One token a byte.
const FakeTokenizer& Bytes() {
  static const FakeTokenizer tokenizer({});
  return tokenizer;
}

std::shared_ptr<const ChatPrompts> Chat(const std::string& source, bool is_one_of_several = false) {
  return std::make_shared<const ChatPrompts>(ChatTemplate::Parse(source, {}).value(), Bytes(),
                                             "chat.jinja", "a test", is_one_of_several);
}

TextMessages Messages(const std::string& source, MessageRules rules = {.format = Format::kFlat}) {
  return {Chat(source), std::move(rules)};
}

std::string TextOf(const proto::Expected<TypedTokens, TypedFault>& tokens) {
  if (!tokens) {
    return "fault: " + tokens.error().why;
  }
  EXPECT_THAT(tokens->types, testing::Each(0));
  EXPECT_EQ(tokens->types.size(), tokens->ids.size());
  EXPECT_EQ(tokens->first_row_after_prompt, 0);
  return Bytes().Decode(tokens->ids);
}

constexpr char kRoles[] = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";

TEST(TextMessages, ATextIsOneOfTheUser) {
  const TextMessages messages = Messages(kRoles);
  EXPECT_EQ(TextOf(MessageTokens(messages, {}).Of("a")), "[user:a]");
  EXPECT_EQ(TextOf(MessageTokens(messages, {.prompt = "p"}).Of("a")), "[system:p][user:a]");
  EXPECT_EQ(TextOf(MessageTokens(messages, {}).Of("")), "[user:]");
}

TEST(TextMessages, APairIsAQueryAndADocument) {
  const TextMessages messages = Messages(kRoles);
  EXPECT_EQ(TextOf(MessageTokens(messages, {}).Of("a", "b")), "[query:a][document:b]");
  EXPECT_EQ(TextOf(MessageTokens(messages, {.prompt = "p"}).Of("a", "b")),
            "[system:p][query:a][document:b]");
}

TEST(TextMessages, ContentsMayBeLists) {
  constexpr char kTypes[] =
      "{% for m in messages %}{% if m.content is string %}text {{ m.content }}"
      "{% else %}{{ m.content[0].type }} {{ m.content[0].text }} {{ m.content | length }}{% endif "
      "%};"
      "{% endfor %}";
  EXPECT_EQ(TextOf(MessageTokens(Messages(kTypes), {}).Of("a")), "text a;");
  const TextMessages lists = Messages(kTypes, {.format = Format::kStructured});
  EXPECT_EQ(TextOf(MessageTokens(lists, {.prompt = "p"}).Of("a")), "text p 1;text a 1;");
  EXPECT_TRUE(lists.has_parts());
}

// The guess of sentence-transformers.
TEST(TextMessages, AFormatIsGuessedFromTheTemplate) {
  EXPECT_FALSE(Messages(kRoles, {}).has_parts());
  for (const std::string sign :
       {"content[0]", "x.type", "'type'", "\"type\"", "message.content[1]"}) {
    EXPECT_TRUE(Messages("{{ messages }}{# " + sign + " #}", {}).has_parts()) << sign;
  }
  EXPECT_TRUE(TextMessages(Chat(kRoles, /*is_one_of_several=*/true), {}).has_parts());
}

TEST(TextMessages, TemplatesHaveArgumentsAndTheTask) {
  constexpr char kVariables[] =
      "{{ messages[0].content }} {{ task }} {{ mood }} {{ add_generation_prompt }}";
  EXPECT_EQ(TextOf(MessageTokens(Messages(kVariables), {}).Of("a")), "a   False");
  const TextMessages messages = Messages(kVariables, {.format = Format::kFlat,
                                                      .add_generation_prompt = true,
                                                      .arguments = {{"mood", "\"good\""}}});
  EXPECT_EQ(TextOf(MessageTokens(messages, {.task = "query"}).Of("a")), "a query good True");
  const TextMessages own =
      Messages(kVariables, {.format = Format::kFlat, .arguments = {{"task", "\"mine\""}}});
  EXPECT_EQ(TextOf(MessageTokens(own, {.task = "query"}).Of("a")), "a mine  False");
}

TEST(TextMessages, WhatIsCutGetsTheTemplatesEndBack) {
  const TextMessages messages = Messages("<{{ messages[-1].content }}> end");
  const auto cut = [&](std::int64_t most, Truncation::Side side = Truncation::Side::kRight) {
    const MessageTokens tokens(
        messages,
        {.truncation = {.max_length = most, .strategy = Strategy::kLongestFirst, .side = side}});
    return TextOf(tokens.Of("abcdefgh"));
  };
  EXPECT_EQ(cut(14), "<abcdefgh> end");
  EXPECT_EQ(cut(10), "<abcd> end");
  EXPECT_EQ(cut(6), "<> end");
  EXPECT_EQ(cut(3), "end") << "the end of the end";
  EXPECT_EQ(cut(10, Truncation::Side::kLeft), "defgh> end");
  const TextMessages without = Messages("<{{ messages[-1].content }}> end",
                                        {.format = Format::kFlat, .restores_suffix = false});
  const MessageTokens tokens(
      without, {.truncation = {.max_length = 10, .strategy = Strategy::kLongestFirst}});
  EXPECT_EQ(TextOf(tokens.Of("abcdefgh")), "<abcdefgh>");
}

TEST(TextMessages, TheEndDependsOnTheSystemMessage) {
  const TextMessages messages = Messages(
      "<{{ messages[-1].content }}>{% if messages | length > 1 %}{{ messages[0].content }}{% endif "
      "%}");
  const MessageTokens tokens(
      messages,
      {.prompt = "p!", .truncation = {.max_length = 6, .strategy = Strategy::kOnlyFirst}});
  EXPECT_EQ(TextOf(tokens.Of("abcdefgh")), "<ab>p!");
  // In a conversation of which nothing changes, no end is known.
  const TextMessages same = Messages("always the same");
  const MessageTokens constant(
      same, {.truncation = {.max_length = 6, .strategy = Strategy::kLongestFirst}});
  EXPECT_EQ(TextOf(constant.Of("abcdefgh")), "always");
}

TEST(TextMessages, WithoutCuttingALongTextIsAFault) {
  const TextMessages messages = Messages("<{{ messages[-1].content }}>");
  const MessageTokens tokens(messages, {.truncation = {.max_length = 4}});
  EXPECT_EQ(TextOf(tokens.Of("ab")), "<ab>");
  const auto fault = tokens.Of("abc");
  ASSERT_FALSE(fault.has_value());
  EXPECT_EQ(fault.error().kind, TypedFault::Kind::kTooLong);
  EXPECT_EQ(fault.error().Message(), "5 tokens > 4");
}

TEST(TextMessages, PairsBeginWithAPrefix) {
  const auto prefix_of = [](const std::string& source) {
    const TextMessages messages = Messages(source);
    return Bytes().Decode(*MessageTokens(messages, {}).PrefixOf("query"));
  };
  EXPECT_EQ(prefix_of("Q{{ messages[0].content }} D{{ messages[1].content }}."), "Qquery D");
  EXPECT_EQ(prefix_of("D{{ messages[1].content }} Q{{ messages[0].content }}."), "D");
}

TEST(TextMessages, ATemplateMayNotTakePairs) {
  const auto fault = [](const std::string& source) {
    const TextMessages messages = Messages(source);
    EXPECT_EQ(TextOf(MessageTokens(messages, {}).Of("a", "b")),
              messages.pair_fault().empty() ? "ab" : "fault: " + messages.pair_fault());
    return messages.pair_fault();
  };
  EXPECT_THAT(fault("{{ messages[0].content }}{{ messages[1].content }}"), IsEmpty());
  EXPECT_EQ(fault("{{ messages[0].content }}"),
            "chat.jinja renders no text of messages of the role document");
  EXPECT_EQ(fault("{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}"
                  "{% endfor %}"),
            "chat.jinja renders no text of messages of the role query and document");
  EXPECT_THAT(fault("{{ raise_exception('no ' + messages[0].role) }}"),
              AllOf(StartsWith("chat.jinja cannot render a message of the role query and one of "
                               "document: "),
                    EndsWith("no query")));
}

TEST(TextMessages, WhatTheTemplateRefusesIsAFault) {
  const TextMessages messages =
      Messages("{% if messages[0].content == 'a' %}{{ raise_exception('no a') }}{% endif %}x");
  EXPECT_EQ(TextOf(MessageTokens(messages, {}).Of("b")), "x");
  EXPECT_EQ(TextOf(MessageTokens(messages, {}).Of("a")), "fault: \"no a\"");
}

/// A directory, and what is found in it.
struct Directory {
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory.path() / name) << text;
  }
  LoadedChatPrompts LoadChat() const { return LoadChatPrompts(directory.path(), {}, &Bytes()); }
  LoadedTexts Load(std::int64_t labels = 0) const {
    proto::ModelConfig config;
    config.num_labels = labels;
    if (labels == 0) {
      config.read_head.emplace();
    }
    return LoadTexts(directory.path(), config, LoadChat());
  }
  std::string Fault() const {
    try {
      Load();
    } catch (const proto::StartupError& error) {
      return error.what();
    }
    return "none";
  }

  const reference::TempDirectory directory;
};

constexpr char kConfig[] = R"({
    "modality_config": {"message": {"method": "forward", "method_output_name": "last_hidden_state",
                                    "format": "flat"}},
    "module_output_name": "token_embeddings", "query_length": 7,
    "processing_kwargs": {"chat_template": {"mood": 1}}})";

TEST(LoadedTexts, AreMessagesIfTheModulesSaySo) {
  const Directory model;
  model.Write("chat_template.jinja", kRoles);
  model.Write("modules.json", "[]");
  EXPECT_EQ(model.Load().messages, nullptr) << "a template alone says nothing";
  EXPECT_EQ(model.Load().Text(), "");
  model.Write("sentence_bert_config.json", kConfig);
  ASSERT_NE(model.Load().messages, nullptr);
  EXPECT_EQ(model.Load().Text(),
            "texts are messages, which chat_template.jinja renders; queries have up to 7 tokens");
  EXPECT_NE(model.Load(/*labels=*/1).messages, nullptr);
  model.Write("chat_template.jinja", "{% include 'x' %}");
  EXPECT_THAT(model.Fault(), HasSubstr("sentence_bert_config.json: modality_config.message: "
                                       "chat_template.jinja: line 1, column 4"));
  std::filesystem::remove(model.directory.path() / "chat_template.jinja");
  EXPECT_THAT(model.Fault(), HasSubstr("the model directory has no chat template"));
}

TEST(LoadedTexts, OfAnEmbedderWithoutModulesFollowTheTemplate) {
  const Directory model;
  EXPECT_EQ(model.Load().messages, nullptr);
  model.Write("chat_template.jinja", kRoles);
  ASSERT_NE(model.Load().messages, nullptr);
  EXPECT_FALSE(model.Load().messages->has_parts());
  EXPECT_EQ(model.Load(/*labels=*/2).messages, nullptr) << "a pipeline of transformers has none";
  model.Write("chat_template.jinja", "{% include 'x' %}");
  EXPECT_THAT(model.Fault(), HasSubstr("sentence-transformers puts texts through the model's chat "
                                       "template: chat_template.jinja: line 1"));
}

TEST(LoadedTexts, AreOfTheirOwnTask) {
  const Directory model;
  model.Write("modules.json", "[]");
  model.Write("sentence_bert_config.json",
              R"({"transformer_task": "sequence-classification", "query_length": 7})");
  EXPECT_EQ(model.Load().module.query_length, std::nullopt) << "an embedder by --task";
  EXPECT_EQ(model.Load(/*labels=*/1).module.query_length, 7);
  EXPECT_EQ(LoadTexts(model.directory.path(), {}, {}).module.origin, "") << "a language model";
  model.Write("sentence_bert_config.json",
              R"({"transformer_task": "text-generation", "query_length": 7})");
  EXPECT_EQ(LoadTexts(model.directory.path(), {}, {}).module.query_length, 7);
  EXPECT_EQ(model.Load(/*labels=*/1).module.query_length, std::nullopt);
}

TEST(LoadedTexts, ArgumentsMayNotReplaceTheConversation) {
  const Directory model;
  model.Write("chat_template.jinja", kRoles);
  model.Write("modules.json", "[]");
  std::string config = kConfig;
  config.replace(config.find("mood"), 4, "messages");
  model.Write("sentence_bert_config.json", config);
  EXPECT_THAT(model.Fault(), HasSubstr("processing_kwargs.chat_template.messages: not supported"));
}

}  // namespace text_messages_test
}  // namespace scorecast::coordinator
