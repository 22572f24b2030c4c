#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/e2e/process.h"

namespace scorecast::testing {

/// The built executable, alone, or under mpirun where `ranks` > 0.
Command ScorecastCommand(const std::vector<std::string>& arguments, int ranks = 0);

/// Runs it to its end.
ProcessResult RunScorecast(const std::vector<std::string>& arguments, int ranks = 0,
                           const std::string& input = {});

/// How requests reach the program.
enum class Transport {
  kBatch,   ///< `scorecast batch`
  kSocket,  ///< `scorecast serve`, all requests of a run at once on one connection
};

/// The tests of one door are those of the other: CTest runs them twice, the second time with
/// SCORECAST_TRANSPORT=socket in the environment.
Transport TransportUnderTest();

/// The command of a door, without its files or its port.
struct BatchCommand {
  std::filesystem::path model;
  std::vector<std::string> flags;
  int ranks = 0;      ///< 0: alone, without mpirun.
  std::string dtype;  ///< Empty: the program's own choice, which depends on the CPU.

  /// With that of `dtype`.
  std::vector<std::string> AllFlags() const;
};

/// What a batch answered; of the socket, as the batch door writes it.
struct BatchRun {
  int exit_code = -1;
  std::string err;
  std::vector<std::string> lines;  ///< As written.

  /// A line as JSON.
  nlohmann::json Record(std::size_t line) const;
  /// `response.body` of a line.
  nlohmann::json Body(std::size_t line) const;
  int StatusCode(std::size_t line) const;
  /// A line as written, but for the timings and `usage.cached_tokens`: what must be the same on
  /// every run, whatever was cached.
  std::string Stable(std::size_t line) const;
  std::vector<std::string> Stable() const;
  /// Of that, what is behind `custom_id`.
  std::string StableResponse(std::size_t line) const;
  std::int64_t CachedTokens(std::size_t line) const;
};

/// A body and the door that it is for.
struct EndpointRequest {
  std::string url;
  nlohmann::json body;
};

/// /v1/score and /v1/chunked.
EndpointRequest ToScore(nlohmann::json body);
EndpointRequest ToChunked(nlohmann::json body);

std::string RequestLine(const std::string& custom_id, const EndpointRequest& request);
/// A request line with a body for /v1/score.
std::string ScoreLine(const std::string& custom_id, const nlohmann::json& body);

/// Scores the text of a batch file.
BatchRun RunBatchText(const BatchCommand& command, const std::string& input);

/// Answers requests; `custom_id` is their place, "0", "1", …. Throws std::invalid_argument where
/// the door is the socket and a body is one that only JSON can say.
BatchRun RunRequests(const BatchCommand& command, const std::vector<EndpointRequest>& requests,
                     Transport transport = TransportUnderTest());

/// The same for bodies of /v1/score.
BatchRun RunBatch(const BatchCommand& command, const std::vector<nlohmann::json>& bodies,
                  Transport transport = TransportUnderTest());

std::vector<std::string> LinesOf(const std::string& text);

/// A directory that lives as long as the test program, new for every call.
std::filesystem::path NewDirectory();

void WriteFile(const std::filesystem::path& path, const std::string& text);
std::string ReadFile(const std::filesystem::path& path);

}  // namespace scorecast::testing
