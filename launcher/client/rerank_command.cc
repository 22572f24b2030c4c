#include "launcher/client/rerank_command.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <istream>
#include <stdexcept>

#include "coordinator/json/response_writer.h"
#include "launcher/client/ranking_lines.h"
#include "launcher/client/terminal_text.h"
#include "proto/base/one_line.h"
#include "proto/http_responses.pb.h"

namespace scorecast::launcher {
namespace {

/// Adds a document for each line that is not blank.
void ReadLines(std::istream& in, std::vector<std::string>& documents) {
  std::string line;
  while (std::getline(in, line)) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      documents.push_back(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    }
  }
}

std::vector<std::string> DocumentsOf(const RerankFlags& flags) {
  std::vector<std::string> documents = flags.documents;
  if (flags.documents_file == "-") {
    ReadLines(std::cin, documents);
  } else if (!flags.documents_file.empty()) {
    errno = 0;
    std::ifstream file(flags.documents_file);
    ReadLines(file, documents);
    if (!file.eof()) {
      throw std::runtime_error("cannot read " + proto::OneLine(flags.documents_file, 4096) +
                               (errno == 0 ? "" : std::string(": ") + std::strerror(errno)));
    }
  }
  if (documents.empty()) {
    throw std::runtime_error("there are no documents: give --document or --documents");
  }
  return documents;
}

v1::Request ToRequest(const RerankFlags& flags, const std::vector<std::string>& documents) {
  v1::Request request;
  request.set_request_id(1);
  v1::RerankRequest& rerank = *request.mutable_rerank();
  rerank.set_query(flags.query);
  rerank.mutable_documents()->Assign(documents.begin(), documents.end());
  if (flags.instruction) {
    rerank.set_instruction(*flags.instruction);
  }
  rerank.set_top_n(flags.top_n);
  rerank.set_max_tokens_per_doc(flags.max_tokens_per_doc);
  rerank.set_raw_scores(flags.raw_scores);
  rerank.set_return_documents(flags.json);
  rerank.set_priority(flags.priority);
  if (flags.timeout_ms) {
    rerank.set_timeout_ms(*flags.timeout_ms);
  }
  return request;
}

void PrintLines(const v1::RerankResponse& response, const std::vector<std::string>& documents) {
  std::vector<RankedDocument> ranking;
  for (const v1::RerankResult& result : response.results()) {
    ranking.push_back(
        {result.relevance_score(), documents.at(static_cast<std::size_t>(result.index()))});
  }
  for (const std::string& line : RankingLines(ranking, TerminalColumns())) {
    std::printf("%s\n", line.c_str());
  }
}

void PrintJson(const v1::RerankResponse& response) {
  const coordinator::ResponseForm& form = coordinator::FormOf(
      *v1::RerankResponse::descriptor(), *v1::CohereRerankResponse::descriptor());
  std::printf("%s\n", coordinator::ResponseJson(response, form).c_str());
}

}  // namespace

int RunRerankCommand(const RerankFlags& flags) {
  const std::vector<std::string> documents = DocumentsOf(flags);
  const v1::Response response = CallServer(flags, ToRequest(flags, documents));
  if (!response.has_rerank()) {
    return PrintRefusal(response.error());
  }
  if (flags.json) {
    PrintJson(response.rerank());
  } else {
    PrintLines(response.rerank(), documents);
  }
  FlushOutput();
  return 0;
}

}  // namespace scorecast::launcher
