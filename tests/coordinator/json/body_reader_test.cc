#include "coordinator/json/body_reader.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/json/body_members.h"
#include "tests/coordinator/json/test_messages.pb.h"

namespace scorecast::coordinator {
namespace body_reader_test {

const BodyForm& Form() {
  static const BodyForm form(*v1::TestRequest::descriptor());
  return form;
}

/// A body with the required fields and `more`.
std::string Body(const std::string& more) { return R"({"query":"q","texts":["t"])" + more + "}"; }

struct Read {
  v1::TestRequest message;
  proto::Expected<BodyNotes> notes;

  explicit Read(const std::string& body)
      : notes(ReadBody(BodyJson::parse(body), Form(), message)) {}

  std::string Fault() const {
    return notes ? "" : notes.error().reason + " " + notes.error().param;
  }
  /// The message as text, without the required fields and defaults.
  std::string Text() {
    message.clear_query();
    message.clear_temperature();
    if (!notes || notes->other_names.empty() || notes->other_names.front()->name != "inputs") {
      message.clear_texts();
    }
    return message.ShortDebugString();
  }
  static const google::protobuf::FieldDescriptor* Field(const std::string& name) {
    return Form().message().FindFieldByName(name);
  }
};

std::string Fault(const std::string& more) { return Read(Body(more)).Fault(); }
std::string Text(const std::string& more) {
  Read read(Body(more));
  EXPECT_EQ(read.Fault(), "") << more;
  return read.Text();
}

TEST(BodyReader, RefusesParametersThatWouldChangeTheResult) {
  EXPECT_EQ(Fault(R"(,"n":2)"), "not_supported n");
  EXPECT_EQ(Fault(R"(,"n":"1")"), "not_supported n");
  EXPECT_EQ(Fault(R"(,"logprobs":true)"), "not_supported logprobs");
  EXPECT_EQ(Fault(R"(,"logit_bias":{"5":1})"), "not_supported logit_bias");
  EXPECT_EQ(Fault(R"(,"item_embed_overrides":[1])"), "not_supported item_embed_overrides");
  EXPECT_EQ(Fault(R"(,"a\nb_embed_overrides":[1])"), "not_supported a\\x0ab_embed_overrides")
      << "a name of the client's stays in its line";
  EXPECT_EQ(Fault(R"(,"n":2,"logprobs":1,"a_embed_overrides":1)"),
            "not_supported a_embed_overrides")
      << "the first by name";
  EXPECT_EQ(Read(Body(R"(,"logprobs":5)")).notes.error().message,
            "logprobs is not supported by this server. Give top_logprobs.");
}

TEST(BodyReader, TakesNeutralValuesAndUnknownFields) {
  for (const char* more :
       {"", R"(,"n":1)", R"(,"n":1.0)", R"(,"n":null)", R"(,"logprobs":false)", R"(,"logprobs":0)",
        R"(,"logit_bias":{})", R"(,"item_embed_overrides":false)", R"(,"user":"me")",
        R"(,"metadata":{"a":[1]})", R"(,"n":2,"n":1)",
        R"(,"response_format":{"strict":true,"strict":false,"type":"text"})"}) {
    EXPECT_EQ(Fault(more), "") << more;
  }
}

TEST(BodyReader, RequiredFields) {
  for (const char* text : {"{}", R"({"query":null})", R"({"query":"q","query":null})"}) {
    const Read read(text);
    EXPECT_EQ(read.notes.error().reason, "missing_field");
    EXPECT_EQ(read.notes.error().message, "query must be provided.");
  }
  EXPECT_EQ(Read(R"({"id":1,"qeury":"q"})").notes.error().message,
            "query must be provided; the request has \"qeury\".");
  EXPECT_EQ(Read("[]").notes.error().message, "The request body must be a JSON object.");
}

TEST(BodyReader, BooleansAsText) {
  for (const char* text : {"true", "\"true\"", "\"True\""}) {
    EXPECT_EQ(Text(R"(,"lenient":)" + std::string(text)), "lenient: true") << text;
  }
  EXPECT_EQ(Text(R"(,"lenient":"false")"), "");
  EXPECT_EQ(Fault(R"(,"lenient":"yes")"), "wrong_type lenient");
  EXPECT_EQ(Fault(R"(,"flag":"true")"), "wrong_type flag");
}

TEST(BodyReader, Documents) {
  EXPECT_EQ(Text(R"(,"documents":["a",{"text":"b","id":7},{"text":"x","text":"c"}])"),
            R"(documents: "a" documents: "b" documents: "c")");
  for (const auto& [documents, param] : std::vector<std::pair<std::string, std::string>>{
           {R"("a")", "documents"},
           {R"([1])", "documents[0]"},
           {R"(["a",{"title":"b"}])", "documents[1]"},
           {R"([{"text":["b"]}])", "documents[0].text"}}) {
    EXPECT_EQ(Fault(R"(,"documents":)" + documents), "wrong_type " + param);
  }
}

TEST(BodyReader, AFieldMayHaveSeveralNames) {
  EXPECT_EQ(Text(R"(,"instruct":"i")"), R"(instruction: "i")");
  EXPECT_EQ(Text(R"(,"instruct":"i","instruction":"i")"), R"(instruction: "i")");
  EXPECT_EQ(Read(Body(R"(,"instruct":"i","instruction":"j")")).notes.error().message,
            "instruction and instruct mean the same, but differ.");
  EXPECT_EQ(Fault(R"(,"instruct":1)"), "wrong_type instruct");
  EXPECT_EQ(Text(R"(,"lenient_inverse":false)"), "flag: true");
  EXPECT_EQ(Text(R"(,"lenient_inverse":false,"flag":false)"), "flag: true");
  EXPECT_EQ(Text(R"(,"lenient_inverse":true,"flag":false)"), "");
}

TEST(BodyReader, ExactlyOneOfSeveralNames) {
  EXPECT_EQ(Read(R"({"query":"q"})").notes.error().message, "texts must be provided.");
  EXPECT_EQ(Read(Body(R"(,"inputs":"i")")).notes.error().message,
            "texts and inputs exclude each other.");
  Read read(R"({"query":"q","inputs":"i"})");
  ASSERT_EQ(read.notes->other_names.size(), 1U);
  EXPECT_EQ(read.notes->other_names.front()->name, "inputs");
  EXPECT_EQ(read.Text(), R"(texts: "i")");
}

TEST(BodyReader, DefaultsThatAreNotProtobufsAreSet) {
  const auto temperature = [](const std::string& more) {
    return Read(Body(more)).message.temperature();
  };
  EXPECT_EQ(temperature(""), 0.5);
  EXPECT_EQ(temperature(R"(,"temperature":null)"), 0.5);
  EXPECT_EQ(temperature(R"(,"temperature":0)"), 0);
}

TEST(BodyReader, AnyJsonKeepsItsOrderAndItsDuplicates) {
  EXPECT_EQ(Text(R"(,"any":{"b": 1, "a": [null, "é"], "b": 18446744073709551615})"),
            R"(any: "{\"b\":1,\"a\":[null,\"\303\251\"],\"b\":18446744073709551615}")");
}

TEST(BodyReader, PairsOfAnObject) {
  EXPECT_EQ(Text(R"(,"pairs":{"b":"x","a":2,"b":true})"),
            R"(pairs { key: "b" value { text: "x" } } pairs { key: "a" value { integer: 2 } } )"
            R"(pairs { key: "b" value { truth: true } })");
  EXPECT_EQ(Fault(R"(,"pairs":{"b":[]})"), "wrong_type pairs.b");
  EXPECT_EQ(Fault(R"(,"pairs":[])"), "wrong_type pairs");
}

TEST(BodyReader, ValuesOfSeveralTypes) {
  EXPECT_EQ(Text(R"(,"value":"x")"), R"(value { text: "x" })");
  EXPECT_EQ(Text(R"(,"value":false)"), "value { truth: false }");
  EXPECT_EQ(Text(R"(,"value":-9223372036854775808)"), "value { integer: -9223372036854775808 }");
  EXPECT_EQ(Read(Body(R"(,"value":1.5)")).notes.error().message,
            "value must be a string or an integer of at most 64 bits or true or false.");
  EXPECT_EQ(Text(R"(,"items":"x")"), R"(items { text: "x" })");
  EXPECT_EQ(Text(R"(,"items":["x",[1]])"), R"(items { text: "x" } items { ids { ids: 1 } })");
  EXPECT_EQ(Read(Body(R"(,"items":["x",{}])")).notes.error().message,
            "items[1] must be a string or a list of token ids.");
  EXPECT_EQ(Read(Body(R"(,"items":{})")).notes.error().message,
            "items must be a string, or a list of strings or of lists of token ids.");
}

TEST(BodyReader, LabelsForAllOrForEach) {
  EXPECT_EQ(Text(R"(,"labels":[1,-2])"), "labels { for_all { ids: 1 ids: -2 } }");
  EXPECT_EQ(Text(R"(,"labels":[])"), "labels { for_all { } }");
  EXPECT_EQ(Text(R"(,"labels":[[1],[]])"), "labels { per_item { lists { ids: 1 } lists { } } }");
  EXPECT_EQ(Fault(R"(,"labels":[[1],2])"), "wrong_type labels[1]");
  EXPECT_EQ(Fault(R"(,"labels":[[1],["a"]])"), "wrong_type labels[1][0]");
  EXPECT_EQ(Fault(R"(,"labels":[1,4294967296])"), "id_out_of_range labels[1]");
}

TEST(BodyReader, IntegersOf64Bits) {
  EXPECT_EQ(Text(R"(,"whole":18446744073709551615)"), "whole: 18446744073709551615");
  EXPECT_EQ(Fault(R"(,"whole":-1)"), "wrong_type whole");
  EXPECT_EQ(Fault(R"(,"integer":9223372036854775808)"), "wrong_type integer");
  EXPECT_EQ(Text(R"(,"integer":-5)"), "integer: -5");
  EXPECT_EQ(Text(R"(,"integer":11)"), "integer: 10");
  EXPECT_EQ(Text(R"(,"integer":1000)"), "integer: 1000") << "out of range";
}

// As JSON Schema 2020-12 has it.
TEST(BodyReader, AWholeNumberIsAnIntegerHoweverItIsWritten) {
  for (const char* eight : {"8", "8.0", "8e0", "80e-1", "0.8E+1"}) {
    const std::string text = eight;
    EXPECT_EQ(Text(R"(,"integer":)" + text), "integer: 8") << text;
    EXPECT_EQ(Text(R"(,"whole":)" + text), "whole: 8") << text;
    EXPECT_EQ(Text(R"(,"value":)" + text), "value { integer: 8 }") << text;
    EXPECT_EQ(Text(R"(,"labels":[)" + text + "]"), "labels { for_all { ids: 8 } }") << text;
    EXPECT_EQ(Text(R"(,"items":["x",[)" + text + "]]"),
              R"(items { text: "x" } items { ids { ids: 8 } })")
        << text;
    EXPECT_EQ(Text(R"(,"integer":8,"whole_number":)" + text), "integer: 8") << text;
  }
  EXPECT_EQ(Text(R"(,"integer":11.0)"), "integer: 10") << "as 11";
  EXPECT_EQ(Text(R"(,"integer":-0.0)"), "");
  EXPECT_EQ(Text(R"(,"whole":-0)"), "");
  EXPECT_EQ(Text(R"(,"integer":-9223372036854775808.0)"), "integer: -9223372036854775808");
  EXPECT_EQ(Text(R"(,"whole":18446744073709549568.0)"), "whole: 18446744073709549568");
  for (const char* other : {"6000.5", "1e-1", "-0.5", "9223372036854775808.0", "1e19", "1e300"}) {
    EXPECT_EQ(Fault(R"(,"integer":)" + std::string(other)), "wrong_type integer") << other;
  }
  for (const char* other : {"6000.5", "-1.0", "18446744073709551616", "18446744073709551615.0"}) {
    EXPECT_EQ(Fault(R"(,"whole":)" + std::string(other)), "wrong_type whole") << other;
  }
  EXPECT_EQ(Read(Body(R"(,"integer":6000.5)")).notes.error().message,
            "integer must be an integer of at most 64 bits.");
  EXPECT_EQ(Fault(R"(,"labels":[1,4294967296.0])"), "id_out_of_range labels[1]");
  EXPECT_EQ(Fault(R"(,"labels":[1.5])"), "wrong_type labels[0]");
  EXPECT_EQ(Fault(R"(,"flag":1.0)"), "wrong_type flag");
}

TEST(BodyReader, EmptyListsAreNoted) {
  const Read read(Body(R"(,"items":[])"));
  ASSERT_EQ(read.notes->empty_lists.size(), 1U);
  EXPECT_EQ(read.notes->empty_lists.front(), Read::Field("items"));
}

TEST(BodyReader, FieldsAreReadInTheirOrder) {
  EXPECT_EQ(Fault(R"(,"whole":"x","documents":"x","query":1)"), "wrong_type query");
  EXPECT_EQ(Fault(R"(,"whole":"x","documents":"x")"), "wrong_type documents");
  EXPECT_EQ(Fault(R"(,"documents":"x","n":2)"), "not_supported n");
}

TEST(BodyFormDeathTest, DescriptionsAreChecked) {
  EXPECT_DEATH(BodyForm(*v1::TestWithoutDescription::descriptor()),
               "every field of a request is described");
  EXPECT_DEATH(BodyForm(*v1::TestWithANameTwice::descriptor()), "no name twice");
  EXPECT_DEATH(BodyForm(*v1::TestWithAnotherType::descriptor()), "no fields of this type");
  EXPECT_DEATH(BodyForm(*v1::TestRequest::descriptor(), "Another"), "the dialects that are used");
}

TEST(BodyForm, ADialectHasItsOwnNamesAndDefaults) {
  const BodyForm dialect(*v1::TestRequest::descriptor(), "TestDialect");
  EXPECT_EQ(dialect.description(), "D.");
  EXPECT_FALSE(dialect.IndexOf("texts"));
  ASSERT_TRUE(dialect.IndexOf("lines"));
  EXPECT_EQ(dialect.fields().at(*dialect.IndexOf("lines")).description, "Lines.");
  EXPECT_EQ(dialect.NameOf(*Read::Field("texts")), "lines");
  v1::TestRequest message;
  const auto notes =
      ReadBody(BodyJson::parse(R"({"query":"q","lines":["a"],"n":2})"), dialect, message);
  ASSERT_TRUE(notes) << notes.error().message;
  EXPECT_EQ(message.texts(0), "a");
  EXPECT_EQ(message.temperature(), 2) << "and n is not refused";
  EXPECT_FALSE(dialect.IndexOf("flag")) << "it is without";
  EXPECT_FALSE(dialect.IndexOf("lenient_inverse"));
  EXPECT_FALSE(dialect.IndexOf("instruct")) << "instruction has no other name there";
  const auto has = [](const std::string& marker) { return marker == "lines"; };
  EXPECT_TRUE(dialect.IsThatOf(has));
  EXPECT_FALSE(Form().IsThatOf(has));
}

TEST(BodyForm, ADialectMayTakeAnObjectWithATextAndAStringInsteadOfABoolean) {
  const BodyForm dialect(*v1::TestRequest::descriptor(), "TestDialect");
  const auto read = [&](const char* body, v1::TestRequest& message) {
    const auto notes = ReadBody(BodyJson::parse(body), dialect, message);
    return notes ? "" : notes.error().message;
  };
  v1::TestRequest message;
  EXPECT_EQ(read(R"({"query":{"text":"q"},"lines":["a"],"lenient":"END"})", message), "");
  EXPECT_EQ(message.query(), "q");
  EXPECT_TRUE(message.lenient());
  EXPECT_EQ(message.instruction(), "END");
  message.Clear();
  EXPECT_EQ(read(R"({"query":"q","lines":["a"],"lenient":"False"})", message), "");
  EXPECT_FALSE(message.lenient());
  EXPECT_FALSE(message.has_instruction());
  EXPECT_EQ(read(R"({"query":{"text":4},"lines":["a"]})", message),
            "query must be a string or an object with a text.");
  EXPECT_EQ(read(R"({"query":"q","lines":["a"],"lenient":4})", message),
            "lenient must be true or false, or a string.");
}

TEST(BodyReader, AnIntegerMayHaveSeveralNames) {
  const auto fault = [](const char* body) {
    v1::TestRequest message;
    const auto notes = ReadBody(BodyJson::parse(body), Form(), message);
    return notes ? std::to_string(message.integer())
                 : notes.error().reason + " " + notes.error().param;
  };
  EXPECT_EQ(fault(R"({"query":"q","texts":["a"],"whole_number":3})"), "3");
  EXPECT_EQ(fault(R"({"query":"q","texts":["a"],"whole_number":3,"integer":3})"), "3");
  EXPECT_EQ(fault(R"({"query":"q","texts":["a"],"whole_number":3,"integer":4})"),
            "given_twice whole_number");
  EXPECT_EQ(fault(R"({"query":"q","texts":["a"],"whole_number":"3","integer":3})"),
            "wrong_type whole_number");
}

}  // namespace body_reader_test
}  // namespace scorecast::coordinator
