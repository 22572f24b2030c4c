// What a template may not have is named with its place.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/chat/chat_template.h"
#include "coordinator/chat/jinja_syntax.h"

namespace scorecast::coordinator {
namespace jinja_parser_test {

std::string FaultOf(const std::string& source) {
  const auto parsed = ChatTemplate::Parse(source, {});
  return parsed ? "none" : parsed.error().Text();
}

TEST(JinjaParser, NamesWhatIsNotSupported) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"ä\n {{ x | groupby('a') }}", "line 2, column 9: the filter \"groupby\" is not supported"},
      {"{% if x is callable %}{% endif %}",
       "line 1, column 12: the test \"callable\" is not supported"},
      {"{% if true %}\n{{ x.encode('a') }}{% endif %}",
       "line 2, column 5: the method \"encode\" is not supported"},
      {"{{ lipsum() }}", "line 1, column 4: the function \"lipsum\" is not supported"},
      {"{% include 'a' %}", "line 1, column 4: the tag \"include\" is not supported"},
      {"{% raw %}{% endraw %}", "line 1, column 4: the tag \"raw\" is not supported"},
      {"{{ x | tojson(default=1) }}",
       "line 1, column 8: the argument \"default\" of the filter \"tojson\" is not supported"},
      {"{{ 2 ** 3 }}", "line 1, column 6: the operator ** is not supported"},
      {"{{ '%s' % x }}", "line 1, column 9: formatting with % is not supported"},
      {"{{ f(*x) }}", "line 1, column 6: arguments from a list are not supported"},
      {"{% for a in b recursive %}{% endfor %}",
       "line 1, column 15: a recursive loop is not supported"},
      {"{% set a, b = c %}",
       "line 1, column 9: a tag \"set\" of several variables is not supported"},
      {"{{ [1] | map('nothing') }}", "line 1, column 14: the filter \"nothing\" is not supported"},
      {"{{ m | selectattr('a', 'callable') }}",
       "line 1, column 24: the test \"callable\" is not supported"},
      {"{{ 1 < 2 < 3 }}", "line 1, column 10: a chain of comparisons is not supported"},
      {"{{ 'a'() }}", "line 1, column 4: a call of something without a name is not supported"},
      {"{{ 0x10 }}", "line 1, column 4: this form of a number is not supported"},
  };
  for (const auto& [source, fault] : faults) {
    EXPECT_EQ(FaultOf(source), fault) << source;
  }
}

TEST(JinjaParser, NamesWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"a {{ x", "line 1, column 3: an output does not end"},
      {"{% if x", "line 1, column 1: a tag does not end"},
      {"{# x", "line 1, column 1: a comment does not end"},
      {"{{ 'x }}", "line 1, column 4: a string does not end"},
      {"{% if x %}", "line 1, column 11: the tag \"endif\" is missing"},
      {"{% if x %}{% endfor %}", "line 1, column 14: the tag \"endfor\" is not supported"},
      {"{% for x in y %}{% else %}", "line 1, column 27: the tag \"endfor\" is missing"},
      {"{{ }}", "line 1, column 4: expected an expression, not \"}}\""},
      {"{{ (a }}", "line 1, column 7: an unexpected \"}\""},
      {"{{ a b }}", "line 1, column 6: expected \"}}\", not \"b\""},
      {"{{ a; }}", "line 1, column 5: the character \";\" has no meaning here"},
      {"{% break %}", "line 1, column 4: the tag \"break\" stands in no loop"},
      {"{{ x | trim(1, 2) }}", "line 1, column 8: the filter \"trim\" has too many arguments"},
      {"{{ x | replace('a') }}", "line 1, column 8: the filter \"replace\" has too few arguments"},
      {"{{ 99999999999999999999 }}", "line 1, column 4: a number is too large"},
      {"\xFF", "the template is not valid UTF-8"},
  };
  for (const auto& [source, fault] : faults) {
    EXPECT_EQ(FaultOf(source), fault) << source;
  }
}

TEST(JinjaParser, DeepNestingIsRefused) {
  const auto repeated = [](const std::string& text) {
    std::string all;
    for (int i = 0; i < 5000; ++i) {
      all += text;
    }
    return all;
  };
  for (const std::string& source :
       {"{{ " + repeated("(") + "1" + repeated(")") + " }}", "{{ 1" + repeated(" + 1") + " }}",
        "{{ a" + repeated(".b") + " }}", "{{ a" + repeated(" | trim") + " }}",
        "{{ " + repeated("not ") + "a }}", "{{ " + repeated("-") + "1 }}",
        "{{ " + repeated("[") + repeated("]") + " }}",
        repeated("{% if x %}") + repeated("{% endif %}"),
        "{{ a" + repeated(" if b else c") + " }}"}) {
    EXPECT_NE(FaultOf(source).find("nested too deeply"), std::string::npos) << source.substr(0, 20);
  }
}

// In linear time: with a search of the whole rest for each output, this would take minutes.
TEST(JinjaParser, ALongTemplateIsParsed) {
  std::string source;
  std::size_t outputs = 0;
  for (const std::string output = "{{ 1 }}"; source.size() + output.size() <= kMostJinjaBytes;
       source += output) {
    ++outputs;
  }
  EXPECT_EQ(ParseJinja(source).statements.size(), outputs);
  source.resize(kMostJinjaBytes, ' ');
  EXPECT_EQ(FaultOf(source), "none");
  EXPECT_EQ(FaultOf(source + " "), "the template has 1048577 bytes; at most 1048576 are supported");
  // A macro for each call.
  std::string macros;
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "m" + std::to_string(i);
    macros += "{% macro " + name + "() %}{% endmacro %}{{ " + name + "() }}";
  }
  EXPECT_EQ(FaultOf(macros), "none");
}

}  // namespace jinja_parser_test
}  // namespace scorecast::coordinator
