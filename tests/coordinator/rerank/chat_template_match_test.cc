// Which chat templates have the text of a built-in template, in the ways in which such files are
// written, and which are only similar.

#include "coordinator/rerank/chat_template_match.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace chat_template_match_test {

std::vector<std::string> Matches(const std::string& jinja) {
  std::vector<std::string> names;
  for (const RerankTemplate& one : BuiltInTemplates()) {
    if (HasTextOf(jinja, one)) {
      names.push_back(one.name);
    }
  }
  return names;
}

std::string Role(const std::string& role) {
  return "{{ messages | selectattr(\"role\", \"eq\", \"" + role +
         "\") | map(attribute=\"content\") | first }}";
}

const std::string kJudge =
    "Judge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that the answer can only be \"yes\" or \"no\".";
const std::string kQwen3 = "<|im_start|>system\n" + kJudge +
                           "<|im_end|>\n<|im_start|>user\n<Instruct>: " + Role("system") +
                           "\n<Query>: " + Role("query") + "\n<Document>: " + Role("document") +
                           "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(ChatTemplateMatch, FindsTextOutsideOfTags) {
  EXPECT_EQ(Matches(kQwen3), std::vector<std::string>{"qwen3-reranker"});
  const std::string with_default = Replaced(
      kQwen3, "| first }}",
      "| first | default(\"Given a web search query, retrieve relevant passages that answer the "
      "query\") }}");
  EXPECT_EQ(Matches(with_default), std::vector<std::string>{"qwen3-reranker"});
}

TEST(ChatTemplateMatch, FindsTextInStrings) {
  EXPECT_EQ(Matches("{%- set q = (messages | selectattr('role', 'eq', 'query') | first).content -%}"
                    "{%- set d = (messages | selectattr('role', 'eq', 'document') | first).content "
                    "-%}{{- '<|im_start|>system\\n' + q + '<|im_end|>\\n<|im_start|>user\\n' + d + "
                    "'<|im_end|>\\n' -}}{%- if add_generation_prompt -%}"
                    "{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"),
            std::vector<std::string>{"zerank"});
  EXPECT_EQ(
      Matches("{{ \"Check whether a given document contains information helpful to answer the "
              "query.\\n<Document> \" ~ document ~ \"\\n<Query> \" ~ query ~ \" ??\" }}"),
      std::vector<std::string>{"contextual-rerank-v2"});
  EXPECT_EQ(Matches("question:" + Role("query") + " \n \n passage:" + Role("document")),
            std::vector<std::string>{"nemotron-rerank"});
}

TEST(ChatTemplateMatch, SimilarTemplatesAreNone) {
  // As for models without thinking.
  EXPECT_TRUE(Matches(Replaced(kQwen3, "<think>\n\n</think>\n\n", "")).empty());
  // As for Qwen3-VL-Reranker.
  EXPECT_TRUE(Matches(Replaced(kQwen3, "<Query>: ", "<Query>:")).empty());
  EXPECT_TRUE(Matches(Replaced(kQwen3, "the requirements", "the needs")).empty());
  EXPECT_TRUE(Matches(Replaced(kQwen3, "<|im_end|>\n", "\nBe brief.<|im_end|>\n")).empty());
  EXPECT_TRUE(Matches("question:" + Role("query") + "\n\npassage:" + Role("document")).empty());
}

TEST(ChatTemplateMatch, ChatTurnsAloneAreOfAnyChatModel) {
  const std::string chat =
      "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + "
      "message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}"
      "{{ '<|im_start|>assistant\\n' }}{% endif %}";
  EXPECT_FALSE(IsRerankChatTemplate(chat));
  EXPECT_TRUE(Matches(chat).empty());
}

TEST(ChatTemplateMatch, CommentsAreNoText) {
  EXPECT_TRUE(Matches("{# " + kQwen3 + " #}").empty());
  EXPECT_EQ(Matches("{# Of the model's card. #}" + kQwen3),
            std::vector<std::string>{"qwen3-reranker"});
}

TEST(ChatTemplateMatch, BrokenTemplatesAreRead) {
  for (const char* jinja : {"{{", "{{ 'a", "{% \"a\\", "{#", "{", "", "{{ 'a' }", "\xff{{'\xff"}) {
    EXPECT_TRUE(Matches(jinja).empty()) << jinja;
    EXPECT_FALSE(IsRerankChatTemplate(jinja));
  }
}

}  // namespace chat_template_match_test
}  // namespace scorecast::coordinator
