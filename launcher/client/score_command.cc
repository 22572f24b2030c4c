#include "launcher/client/score_command.h"

#include <cstdio>
#include <string>

#include "coordinator/json/response_writer.h"

namespace scorecast::launcher {
namespace {

v1::Request ToRequest(const ScoreFlags& flags) {
  v1::Request request;
  request.set_request_id(1);
  v1::ScoreRequest& score = *request.mutable_score();
  score.mutable_query()->set_text(flags.query);
  for (const std::string& item : flags.items) {
    score.add_items()->set_text(item);
  }
  for (const std::string& label : flags.labels) {
    score.add_labels(label);
  }
  if (!flags.label_token_ids.empty()) {
    score.mutable_label_token_ids()->mutable_for_all()->mutable_ids()->Assign(
        flags.label_token_ids.begin(), flags.label_token_ids.end());
  }
  score.set_apply_softmax(flags.apply_softmax);
  if (flags.activation) {
    score.set_activation(*flags.activation);
  }
  score.set_item_first(flags.item_first);
  score.set_temperature(flags.temperature);
  score.set_return_token_logprobs(flags.return_token_logprobs);
  score.set_top_logprobs(flags.top_logprobs);
  score.set_priority(flags.priority);
  if (flags.timeout_ms) {
    score.set_timeout_ms(*flags.timeout_ms);
  }
  return request;
}

/// Prints the item's scores and the item in columns. Control characters of an item become
/// spaces.
void PrintLines(const ScoreFlags& flags, const v1::ScoreResponse& response) {
  for (int i = 0; i < response.scores_size(); ++i) {
    for (const double score : response.scores(i).values()) {
      std::printf("%.9g\t", score);
    }
    for (const char c : flags.items[static_cast<std::size_t>(i)]) {
      std::putchar(static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
    }
    std::putchar('\n');
  }
}

}  // namespace

int RunScoreCommand(const ScoreFlags& flags) {
  const v1::Response response = CallServer(flags, ToRequest(flags));
  if (!response.has_score()) {
    return PrintRefusal(response.error());
  }
  if (flags.json) {
    std::printf("%s\n", coordinator::ResponseJson(response.score()).c_str());
  } else {
    PrintLines(flags, response.score());
  }
  FlushOutput();
  return 0;
}

}  // namespace scorecast::launcher
