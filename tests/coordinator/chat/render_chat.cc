// Renders conversations with a template: one JSON line for each of them. See
// tests/golden/make/chat.py.

#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

#include "coordinator/chat/chat_template.h"
#include "tests/coordinator/chat/golden_conversation.h"
#include "tests/coordinator/text/json_lines.h"

int main(int argc, char** argv) {
  using scorecast::coordinator::ChatTemplate;
  if (argc != 3) {
    std::fprintf(stderr, "usage: render_chat TEMPLATE CONVERSATIONS\n");
    return 2;
  }
  std::ostringstream source;
  source << std::ifstream(argv[1]).rdbuf();
  const auto chat_template =
      ChatTemplate::Parse(source.str(), {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  if (!chat_template) {
    std::fprintf(stderr, "%s\n", chat_template.error().Text().c_str());
    return 1;
  }
  for (const nlohmann::json& line : scorecast::coordinator::ReadJsonLines(argv[2])) {
    const scorecast::coordinator::GoldenConversation given(line);
    scorecast::coordinator::Conversation conversation = given.conversation();
    conversation.time = std::time(nullptr);
    const auto text = chat_template->Render(conversation, nullptr);
    const nlohmann::json answer = {
        {text ? "text" : "fault", text ? text->text() : text.error().Text()}};
    std::printf("%s\n", answer.dump().c_str());
  }
  return 0;
}
