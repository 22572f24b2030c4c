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

/// The path of the built executable.
extern const char* const kScorecastProgram;

/// How many ranks tests use that need several, unless their number matters: an odd number here, and
/// two on each of two hosts with SCORECAST_TEST_MPIRUN.
int SeveralRanks();

/// The command line of the built executable: alone if `ranks` is 0, else under mpirun.
Command ScorecastCommand(const std::vector<std::string>& arguments, int ranks = 0);

/// The same command under `scorecast supervise` with these flags.
Command SupervisedCommand(Command command, const std::vector<std::string>& flags = {});

/// Runs the executable to its end.
ProcessResult RunScorecast(const std::vector<std::string>& arguments, int ranks = 0,
                           const std::string& input = {});

/// How requests reach the program.
enum class Transport {
  kBatch,   ///< `scorecast batch`
  kSocket,  ///< `scorecast serve`, all requests of a run at once on one connection
};

/// kSocket if SCORECAST_TRANSPORT=socket is in the environment, else kBatch. CTest runs the tests
/// that work through either transport twice, once with each.
Transport TransportUnderTest();

/// `scorecast batch` or `scorecast serve`, without files and port.
struct BatchCommand {
  std::filesystem::path model;
  std::vector<std::string> flags;
  int ranks = 0;      ///< 0: without mpirun.
  std::string dtype;  ///< Empty: the program's default, which depends on the CPU.

  /// `flags`, and --dtype if `dtype` is not empty.
  std::vector<std::string> AllFlags() const;
};

/// Responses of a run, always in the format of a batch file's output, whatever the transport.
struct BatchRun {
  int exit_code = -1;
  std::string err;
  std::vector<std::string> lines;  ///< As written.

  /// The line as JSON.
  nlohmann::json Record(std::size_t line) const;
  /// `response.body` of the line.
  nlohmann::json Body(std::size_t line) const;
  int StatusCode(std::size_t line) const;
  /// The line without its timings and `usage.cached_tokens`. The rest must be the same on every
  /// run, whatever is cached.
  std::string Stable(std::size_t line) const;
  std::vector<std::string> Stable() const;
  /// The part of Stable(line) behind `custom_id`.
  std::string StableResponse(std::size_t line) const;
  std::int64_t CachedTokens(std::size_t line) const;
};

/// A request body and the URL of its endpoint.
struct EndpointRequest {
  std::string url;
  nlohmann::json body;
};

// A body for each endpoint.
EndpointRequest ToScore(nlohmann::json body);
EndpointRequest ToChunked(nlohmann::json body);
EndpointRequest ToCompletions(nlohmann::json body);
EndpointRequest ToRerank(nlohmann::json body);
EndpointRequest ToSystemOne(nlohmann::json body);

std::string RequestLine(const std::string& custom_id, const EndpointRequest& request);
/// A request line of /v1/score.
std::string ScoreLine(const std::string& custom_id, const nlohmann::json& body);

/// Runs `scorecast batch` on a file with this text.
BatchRun RunBatchText(const BatchCommand& command, const std::string& input);

/// Sends requests through a transport. `custom_id` is the request's index, "0", "1", …. Throws
/// std::invalid_argument if the transport is the socket and no message can express a body.
BatchRun RunRequests(const BatchCommand& command, const std::vector<EndpointRequest>& requests,
                     Transport transport = TransportUnderTest());

/// Like the function above, for bodies of /v1/score.
BatchRun RunBatch(const BatchCommand& command, const std::vector<nlohmann::json>& bodies,
                  Transport transport = TransportUnderTest());

std::vector<std::string> LinesOf(const std::string& text);

/// Makes a new directory, which is removed when the test program ends.
std::filesystem::path NewDirectory();

void WriteFile(const std::filesystem::path& path, const std::string& text);
std::string ReadFile(const std::filesystem::path& path);

}  // namespace scorecast::testing
