#include "tests/e2e/scorecast_program.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "tests/e2e/socket_transport.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::testing {

using nlohmann::json;

Transport TransportUnderTest() {
  const char* name = std::getenv("SCORECAST_TRANSPORT");
  return name != nullptr && std::string(name) == "socket" ? Transport::kSocket : Transport::kBatch;
}

namespace {

/// Options with which mpirun finds the hosts of SCORECAST_TEST_MPIRUN; empty if ranks run here.
std::vector<std::string> HostOptions() {
  const char* options = std::getenv("SCORECAST_TEST_MPIRUN");
  return options == nullptr ? std::vector<std::string>() : LinesOf(options);
}

}  // namespace

int SeveralRanks() { return HostOptions().empty() ? 3 : 4; }

Command ScorecastCommand(const std::vector<std::string>& arguments, int ranks) {
  Command command;
  if (ranks > 0) {
    command.arguments = {SCORECAST_MPIEXEC,    "--oversubscribe", "--bind-to", "none", "-n",
                         std::to_string(ranks)};
    const std::vector<std::string> hosts = HostOptions();
    if (!hosts.empty()) {
      command.arguments.insert(command.arguments.end(), hosts.begin(), hosts.end());
      // The first half of the ranks on one host.
      command.arguments.insert(command.arguments.end(),
                               {"--map-by", "ppr:" + std::to_string((ranks + 1) / 2) + ":node"});
    }
    command.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                           {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  }
  command.arguments.emplace_back(kScorecastProgram);
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  return command;
}

Command SupervisedCommand(Command command, const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {kScorecastProgram, "supervise"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  command.arguments = std::move(arguments);
  return command;
}

ProcessResult RunScorecast(const std::vector<std::string>& arguments, int ranks,
                           const std::string& input) {
  return Run(ScorecastCommand(arguments, ranks), input);
}

std::vector<std::string> BatchCommand::AllFlags() const {
  std::vector<std::string> all = flags;
  if (!dtype.empty()) {
    all.insert(all.end(), {"--dtype", dtype});
  }
  return all;
}

json BatchRun::Record(std::size_t line) const { return json::parse(lines.at(line)); }

json BatchRun::Body(std::size_t line) const { return Record(line).at("response").at("body"); }

int BatchRun::StatusCode(std::size_t line) const {
  return Record(line).at("response").at("status_code").get<int>();
}

std::string BatchRun::Stable(std::size_t line) const {
  std::string text = lines.at(line);
  // Erases up to the end of the object or number.
  for (const auto& [field, end] :
       {std::pair{"\"timings\":{", "}"}, std::pair{"\"cached_tokens\":", ",}"}}) {
    const std::size_t begin = text.find(field);
    if (begin != std::string::npos) {
      text.erase(begin, text.find_first_of(end, begin) - begin);
    }
  }
  return text;
}

std::vector<std::string> BatchRun::Stable() const {
  std::vector<std::string> stable;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    stable.push_back(Stable(line));
  }
  return stable;
}

std::string BatchRun::StableResponse(std::size_t line) const {
  const std::string stable = Stable(line);
  return stable.substr(stable.find("\"response\""));
}

std::int64_t BatchRun::CachedTokens(std::size_t line) const {
  return Body(line).at("usage").at("cached_tokens").get<std::int64_t>();
}

EndpointRequest ToScore(json body) { return {"/v1/score", std::move(body)}; }

EndpointRequest ToChunked(json body) { return {"/v1/chunked", std::move(body)}; }

EndpointRequest ToCompletions(json body) { return {"/v1/completions", std::move(body)}; }

EndpointRequest ToRerank(json body) { return {"/v1/rerank", std::move(body)}; }

EndpointRequest ToSystemOne(json body) { return {"/v1/systemone", std::move(body)}; }

std::string RequestLine(const std::string& custom_id, const EndpointRequest& request) {
  return json{{"custom_id", custom_id},
              {"method", "POST"},
              {"url", request.url},
              {"body", request.body}}
             .dump() +
         "\n";
}

std::string ScoreLine(const std::string& custom_id, const json& body) {
  return RequestLine(custom_id, ToScore(body));
}

BatchRun RunBatchText(const BatchCommand& command, const std::string& input) {
  const std::filesystem::path dir = NewDirectory();
  WriteFile(dir / "in.jsonl", input);
  std::vector<std::string> arguments = {"batch",
                                        "--model",
                                        command.model.string(),
                                        "--input",
                                        (dir / "in.jsonl").string(),
                                        "--output",
                                        (dir / "out.jsonl").string()};
  const std::vector<std::string> flags = command.AllFlags();
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const ProcessResult result = RunScorecast(arguments, command.ranks);
  BatchRun run;
  run.exit_code = result.exit_code;
  run.err = result.err;
  if (std::filesystem::exists(dir / "out.jsonl")) {
    run.lines = LinesOf(ReadFile(dir / "out.jsonl"));
  }
  return run;
}

BatchRun RunRequests(const BatchCommand& command, const std::vector<EndpointRequest>& requests,
                     Transport transport) {
  if (transport == Transport::kSocket) {
    return RunThroughSocket(command, requests);
  }
  std::string input;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    input += RequestLine(std::to_string(i), requests[i]);
  }
  return RunBatchText(command, input);
}

BatchRun RunBatch(const BatchCommand& command, const std::vector<json>& bodies,
                  Transport transport) {
  std::vector<EndpointRequest> requests;
  std::transform(bodies.begin(), bodies.end(), std::back_inserter(requests), ToScore);
  return RunRequests(command, requests, transport);
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::filesystem::path NewDirectory() {
  static const reference::TempDirectory all;
  static int made = 0;
  const std::filesystem::path dir = all.path() / std::to_string(made++);
  std::filesystem::create_directory(dir);
  return dir;
}

void WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("cannot read " + path.string());
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace scorecast::testing
