// `scorecast score`, the command-line client: its output, and its errors in one line.

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/tls/tls_context.h"
#include "tests/coordinator/transports/tls/certificates.h"
#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::testing {
namespace score_command_test {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

/// A service in multi-item mode that listens on `host`.
BatchCommand OnHost(const std::string& host) {
  return {MakeModel("digits"), {"--multi-item-scoring-delimiter", "2", "--host", host}};
}

std::vector<std::string> ScoreArguments(const std::string& address) {
  return {"score", "--connect", address, "--query",          "12", "--item",
          "3\n4",  "--item",    "--5",   "--label-token-id", "7",  "--label-token-id",
          "8"};
}

void ExpectFault(const ProcessResult& result, const std::string& part) {
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(LinesOf(result.err), ::testing::ElementsAre(HasSubstr("scorecast: "))) << result.err;
  EXPECT_THAT(result.err, HasSubstr(part));
}

TEST(ScoreCommand, PrintsOneLinePerItemOrJson) {
  const Service server(OnHost("127.0.0.1"));
  std::vector<std::string> arguments = ScoreArguments(server.address());
  const ProcessResult lines = RunScorecast(arguments);
  EXPECT_EQ(lines.exit_code, 0) << lines.err;
  const std::string number = "[0-9.e-]+\t";
  EXPECT_THAT(LinesOf(lines.out), ::testing::ElementsAre(MatchesRegex(number + number + "3 4"),
                                                         MatchesRegex(number + number + "--5")));
  arguments.emplace_back("--json");
  const ProcessResult json = RunScorecast(arguments);
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const auto body = nlohmann::json::parse(json.out);
  EXPECT_EQ(body.at("object"), "scoring");
  EXPECT_EQ(body.at("scores").size(), 2U);
  EXPECT_TRUE(body.at("timings").contains("queue_ms"));
}

TEST(ScoreCommand, SpeaksTls) {
  const reference::TempDirectory directory;
  Authority own(directory.path(), "own");
  Authority other(directory.path(), "other");
  const proto::TlsServerFiles server_files = own.Issue("server");
  BatchCommand command = OnHost("127.0.0.1");
  const Service plain(command);
  const std::vector<std::string> server_flags = {"--tls-cert",      server_files.certificate,
                                                 "--tls-key",       server_files.key,
                                                 "--tls-client-ca", own.certificate()};
  command.flags.insert(command.flags.end(), server_flags.begin(), server_flags.end());
  const Service server(command);
  const proto::TlsClientFiles client =
      own.IssueClient("client", {.name = "client", .alternatives = ""});
  const auto run = [&](const std::string& address, const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = ScoreArguments(address);
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunScorecast(arguments);
  };
  const std::vector<std::string> certificate = {"--tls-client-cert", client.certificate,
                                                "--tls-client-key", client.key};
  std::vector<std::string> flags = {"--tls-ca", own.certificate()};
  ExpectFault(run(server.address(), flags), "--tls-client-cert");
  flags.insert(flags.end(), certificate.begin(), certificate.end());
  const ProcessResult scores = run(server.address(), flags);
  EXPECT_EQ(scores.exit_code, 0) << scores.err;
  EXPECT_EQ(scores.out, run(plain.address(), {}).out);
  ExpectFault(run(plain.address(), flags), "leave out --tls");
  ExpectFault(run(server.address(), {}), "tls_required");
  flags[1] = other.certificate();
  ExpectFault(run(server.address(), flags), "--tls-ca");

  // Faults of the files, before the model is read.
  const auto start = [&](const proto::TlsServerFiles& files) {
    return RunScorecast({"serve", "--model", command.model.string(), "--port", "0", "--http-port",
                         "-1", "--tls-cert", files.certificate, "--tls-key", files.key});
  };
  proto::TlsServerFiles mixed = own.Issue("second");
  mixed.key = server_files.key;
  ExpectFault(start(mixed), "does not belong to the certificate");
  ExpectFault(start(own.Issue("old", {.days = -1})), "it expired at");
  EXPECT_THAT(RunScorecast({"serve", "--model", command.model.string(), "--tls-client-ca",
                            own.certificate()})
                  .err,
              HasSubstr("--tls-client-ca requires --tls-cert"));
}

TEST(ScoreCommand, PrintsTheScoresOfClasses) {
  const Service server({MakeClassifier(2, "digits"), {}});
  std::vector<std::string> arguments = {"score",  "--connect", server.address(), "--query", "12",
                                        "--item", "34",        "--item",         "5"};
  const ProcessResult logits = RunScorecast(arguments);
  EXPECT_EQ(logits.exit_code, 0) << logits.err;
  const std::string number = "-?[0-9.e-]+\t";
  EXPECT_THAT(LinesOf(logits.out), ::testing::ElementsAre(MatchesRegex(number + number + "34"),
                                                          MatchesRegex(number + number + "5")));
  arguments.insert(arguments.end(), {"--json", "--activation", "sigmoid"});
  const ProcessResult json = RunScorecast(arguments);
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const auto body = nlohmann::json::parse(json.out);
  for (const auto& item : body.at("scores")) {
    EXPECT_EQ(item.size(), 2U);
    for (const double score : item) {
      EXPECT_GT(score, 0);
      EXPECT_LT(score, 1);
    }
  }
  arguments.back() = "relu";
  ExpectFault(RunScorecast(arguments), "400 unknown_activation");
  arguments.resize(arguments.size() - 2);
  arguments.insert(arguments.end(), {"--label", "7"});
  ExpectFault(RunScorecast(arguments), "400 not_for_classifiers");
}

TEST(ScoreCommand, PrintsTheServersRefusal) {
  const Service server(OnHost("127.0.0.1"));
  std::vector<std::string> arguments = ScoreArguments(server.address());
  arguments.insert(arguments.end(), {"--temperature", "nan", "--apply-softmax"});
  ExpectFault(RunScorecast(arguments), "400 temperature_out_of_range");
  arguments = ScoreArguments(server.address());
  arguments[4] = "\xff";  // Not UTF-8.
  ExpectFault(RunScorecast(arguments), "query.text is not valid UTF-8");
}

TEST(ScoreCommand, FailsIfTheOutputCannotBeWritten) {
  const Service server(OnHost("127.0.0.1"));
  Command command = ScorecastCommand(ScoreArguments(server.address()));
  command.arguments.insert(command.arguments.begin(),
                           {"sh", "-c", "exec \"$@\" > /dev/full", "sh"});
  ExpectFault(testing::Run(command), "standard output");
}

TEST(ScoreCommand, FailsIfThereIsNoServer) {
  // 70000 must not become port 4464.
  for (const char* address : {"127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:0",
                              "127.0.0.1:-1", "127.0.0.1:74x", ""}) {
    ExpectFault(RunScorecast(ScoreArguments(address)), "is not HOST:PORT");
  }
  std::vector<std::string> arguments = ScoreArguments("127.0.0.1:1");
  arguments.insert(arguments.end(), {"--timeout", "0.5"});
  ExpectFault(RunScorecast(arguments), "cannot connect to 127.0.0.1:1: ");
}

TEST(ScoreCommand, DoesNotWaitForASilentServerNorBelieveALyingOne) {
  namespace asio = boost::asio;
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
  std::vector<std::string> arguments =
      ScoreArguments("127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
  arguments.insert(arguments.end(), {"--timeout", "0.5"});
  ExpectFault(RunScorecast(arguments), "did not reply within --timeout 0.5 s");
  acceptor.accept();
  arguments.back() = "60";
  asio::ip::tcp::socket lying(io);
  std::thread server([&] {
    acceptor.accept(lying);
    asio::write(lying, asio::buffer(std::string(4, '\xff')));
  });
  ExpectFault(RunScorecast(arguments), "the server's reply is too large: 4294967295 > 1073741824");
  server.join();
}

TEST(ScoreCommand, ConnectsToTheAddressThatTheServiceNames) {
  std::optional<Service> started;
  try {
    started.emplace(OnHost("::1"));
  } catch (const std::runtime_error& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("cannot listen on ::1"));
    GTEST_SKIP() << "this host has no IPv6";
  }
  const Service& server = *started;
  EXPECT_THAT(server.address(), MatchesRegex("\\[::1\\]:[0-9]+"));
  EXPECT_EQ(RunScorecast(ScoreArguments(server.address())).exit_code, 0);
}

TEST(ServeStart, APortInUseIsAnErrorInOneLine) {
  const Service server(OnHost("127.0.0.1"));
  const std::string port = server.address().substr(server.address().find(':') + 1);
  const ProcessResult result = RunScorecast(
      {"serve", "--model", MakeModel("digits"), "--port", port, "--http-port", "-1"}, 2);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  std::vector<std::string> own;
  for (const std::string& line : LinesOf(result.err)) {
    if (line.starts_with("scorecast: ")) {
      own.push_back(line);
    }
  }
  EXPECT_THAT(own, ::testing::ElementsAre(HasSubstr("cannot listen on 127.0.0.1:" + port)));
  EXPECT_THAT(result.err, Not(HasSubstr("weights"))) << "the model is not read";
}

TEST(ServeStart, OnePortForBothSocketsIsAnErrorInOneLine) {
  const std::string port = [] {
    const Service server(OnHost("127.0.0.1"));
    return server.address().substr(server.address().find(':') + 1);
  }();
  const ProcessResult result =
      RunScorecast({"serve", "--model", MakeModel("digits"), "--port", port, "--http-port", port});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(LinesOf(result.err),
              ::testing::ElementsAre(HasSubstr("scorecast: cannot listen on port " + port)));
}

TEST(ServeStart, AnHttpPortInUseIsAnErrorInOneLine) {
  const Service server(OnHost("127.0.0.1"));
  const std::string& address = server.http_address();
  const ProcessResult result = RunScorecast({"serve", "--model", MakeModel("digits"), "--port", "0",
                                             "--http-port", address.substr(address.find(':') + 1)});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(LinesOf(result.err),
              ::testing::ElementsAre(HasSubstr("scorecast: cannot listen on " + address)));
}

}  // namespace score_command_test
}  // namespace scorecast::testing
