#include "tests/coordinator/schedule/sample_requests.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

#include "coordinator/schedule/pages/capacity.h"
#include "tests/coordinator/fake_cluster.h"

namespace scorecast::coordinator {

using proto::PackedSequence;
using proto::RowLogits;
using proto::SegmentKind;
using proto::TokenId;

TokenChooser::Choice Greedy::Take(const RowLogits& row) {
  asks_again_ = !asks_again_ && row.top.front().first % 5 == 0;
  if (asks_again_) {
    return {Choice::Kind::kReadAgain};
  }
  tokens_.push_back(row.top.front().first);
  return --left_ > 0 ? Choice{Choice::Kind::kToken, tokens_.back()} : Choice{};
}

std::vector<TokenId> ExpectedTokens(PackedSequence sequence, std::size_t segment,
                                    std::int64_t count) {
  std::vector<TokenId> tokens;
  while (static_cast<std::int64_t>(tokens.size()) < count) {
    std::int32_t end = 0;
    for (std::size_t i = 0; i <= segment; ++i) {
      end += sequence.segments[i].length;
    }
    const proto::RowRead read{.row = end - 1, .normalizer = true, .top_k = 1};
    tokens.push_back(ExpectedRow(sequence, read, kVocabSize).top.front().first);
    sequence.tokens.insert(sequence.tokens.begin() + end, tokens.back());
    ++sequence.segments[segment].length;
  }
  return tokens;
}

Job Request::MakeJob(std::function<void(JobResult)> done) const {
  return {.sequences = sequences,
          .generations = generations,
          .client = client,
          .priority = priority,
          .deadline = deadline,
          .cache_salt = salt,
          .done = std::move(done)};
}

std::vector<TokenId> Text(int text, int count) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) {
    tokens.push_back((text + i * (i + text)) % static_cast<int>(kVocabSize));
  }
  return tokens;
}

void Append(PackedSequence& sequence, SegmentKind kind, const std::vector<TokenId>& tokens,
            std::int32_t position, bool continues) {
  sequence.segments.push_back(
      {kind, static_cast<std::int32_t>(tokens.size()), position, continues});
  sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
}

void ReadLast(PackedSequence& sequence) {
  sequence.reads.push_back({static_cast<std::int32_t>(sequence.rows()) - 1, 0, true, 2});
}

PackedSequence ScoredPrompt(int rows, TokenId token) {
  PackedSequence sequence;
  sequence.label_lists = {{token, 1}};
  Append(sequence, SegmentKind::kPrefix,
         std::vector<TokenId>(static_cast<std::size_t>(rows), token), 0);
  ReadLast(sequence);
  return sequence;
}

Request ItemsRequest(const std::vector<TokenId>& query,
                     const std::vector<std::vector<TokenId>>& items) {
  PackedSequence sequence;
  sequence.label_lists = {{1, 2, 3}};
  Append(sequence, SegmentKind::kPrefix, query, 0);
  ReadLast(sequence);
  for (const auto& item : items) {
    Append(sequence, SegmentKind::kBlock, item, static_cast<std::int32_t>(query.size()));
    ReadLast(sequence);
  }
  return {.sequences = {sequence}};
}

namespace {

void AddCompletion(Request& request, std::size_t segment, std::int64_t count) {
  request.choosers.push_back(std::make_shared<Greedy>(count));
  request.generations.push_back({0, segment, count, request.choosers.back()});
}

}  // namespace

Request ChunksRequest(const std::vector<TokenId>& system,
                      const std::vector<std::vector<TokenId>>& chunks,
                      const std::vector<std::vector<TokenId>>& questions,
                      std::int64_t completion_tokens) {
  Request request;
  PackedSequence& sequence = request.sequences.emplace_back();
  sequence.label_lists = {{4, 5}};
  const auto behind_system = static_cast<std::int32_t>(system.size());
  if (!system.empty()) {
    Append(sequence, SegmentKind::kPrefix, system, 0);
  }
  std::int32_t longest = 0;
  for (const auto& chunk : chunks) {
    Append(sequence, SegmentKind::kBlock, chunk, behind_system);
    longest = std::max(longest, static_cast<std::int32_t>(chunk.size()));
  }
  for (const auto& question : questions) {
    Append(sequence, SegmentKind::kSuffix, question, behind_system + longest);
    ReadLast(sequence);
    if (completion_tokens > 0) {
      AddCompletion(request, sequence.segments.size() - 1, completion_tokens);
    }
  }
  return request;
}

Request PlainRequest(const std::vector<TokenId>& prompt,
                     const std::vector<std::int64_t>& completion_tokens) {
  Request request;
  PackedSequence& sequence = request.sequences.emplace_back();
  Append(sequence, SegmentKind::kPrefix, prompt, 0);
  for (const std::int64_t count : completion_tokens) {
    Append(sequence, SegmentKind::kSuffix, {}, static_cast<std::int32_t>(prompt.size()));
    AddCompletion(request, sequence.segments.size() - 1, count);
  }
  return request;
}

void ExpectResult(const Request& request, const JobResult& result) {
  ASSERT_TRUE(result.rows.has_value()) << result.rows.error().message;
  ASSERT_EQ(result.rows.value().size(), request.sequences.size());
  EXPECT_LE(result.started, result.finished);
  std::int64_t rows_of_all = 0;
  for (std::size_t i = 0; i < request.sequences.size(); ++i) {
    const PackedSequence& sequence = request.sequences[i];
    rows_of_all += sequence.rows();
    ASSERT_EQ(result.rows.value()[i].size(), sequence.reads.size());
    for (std::size_t j = 0; j < sequence.reads.size(); ++j) {
      const RowLogits expected = ExpectedRow(sequence, sequence.reads[j], kVocabSize);
      const RowLogits& row = result.rows.value()[i][j];
      EXPECT_EQ(row.label_logits, expected.label_logits) << i << " " << j;
      EXPECT_EQ(row.sum_exp, expected.sum_exp) << i << " " << j;
      EXPECT_EQ(row.top, expected.top) << i << " " << j;
    }
  }
  EXPECT_LE(result.cached_tokens, rows_of_all);
  for (std::size_t i = 0; i < request.generations.size(); ++i) {
    const Generation& generation = request.generations[i];
    EXPECT_EQ(request.choosers[i]->tokens(),
              ExpectedTokens(request.sequences[generation.sequence], generation.segment,
                             generation.max_new_tokens));
  }
}

Request RequestMaker::Make() {
  while (true) {
    Request request = Pick(0, 2) == 0 ? MultiItem() : ChunkAware();
    request.salt = Pick(0, 4) == 0 ? "tenant" : "";
    if (!CapacityFault(request.sequences.front(), limits_, request.generations)) {
      return request;
    }
  }
}

std::vector<TokenId> RequestMaker::Piece(int longest) {
  const int text = Pick(0, 5);
  const int shared = text < 3 ? 40 : 70;  // Two families of texts share a beginning.
  std::vector<TokenId> tokens;
  for (int i = 0, n = Pick(0, 3) == 0 ? longest : Pick(1, longest); i < n; ++i) {
    tokens.push_back(i < shared ? (i * 7 + text / 3) % 64 : (i * 5 + text * 11) % 64);
  }
  return tokens;
}

void RequestMaker::Read(PackedSequence& sequence, std::int32_t row) {
  const bool normalizer = Pick(0, 1) == 1;
  sequence.reads.push_back(
      {.row = row, .label_list = 0, .normalizer = normalizer, .top_k = normalizer ? 3 : 0});
}

Request RequestMaker::MultiItem() {
  Request request;
  PackedSequence sequence;
  sequence.label_lists = {{1, 2, 3}};
  const std::vector<TokenId> query = Piece(200);
  const auto prefix = static_cast<std::int32_t>(query.size());
  Append(sequence, SegmentKind::kPrefix, query, 0);
  if (Pick(0, 1) == 1) {
    Read(sequence, Pick(0, 3) == 0 ? Pick(0, prefix - 1) : prefix - 1);
  }
  for (int items = Pick(0, 5); items > 0; --items) {
    Append(sequence, SegmentKind::kBlock, Piece(Pick(0, 9) == 0 ? 80 : 9), prefix);
    Read(sequence, static_cast<std::int32_t>(sequence.rows()) - 1);
  }
  if (sequence.reads.empty()) {
    Read(sequence, prefix - 1);
  }
  request.sequences = {sequence};
  return request;
}

Request RequestMaker::ChunkAware() {
  Request request;
  PackedSequence sequence;
  sequence.label_lists = {{4, 5}};
  const bool is_offset = Pick(0, 3) == 0;
  std::int32_t prefix = 0;
  if (Pick(0, 5) > 0) {
    const std::vector<TokenId> system = Piece(100);
    prefix = static_cast<std::int32_t>(system.size());
    Append(sequence, SegmentKind::kPrefix, system, 0);
  }
  std::int32_t longest = 0;
  std::int32_t physical = prefix;
  const bool is_short = Pick(0, 4) == 0;  // Many short chunks.
  for (int groups = is_short ? Pick(5, 20) : Pick(0, 4); groups > 0; --groups) {
    std::int32_t end = is_offset ? physical : prefix;
    for (int chunks = Pick(0, 2) == 0 ? 2 : 1, i = 0; i < chunks; ++i) {
      const std::vector<TokenId> chunk = Piece(is_short ? 40 : 150);
      Append(sequence, SegmentKind::kBlock, chunk, end, i > 0);
      end += static_cast<std::int32_t>(chunk.size());
      physical += static_cast<std::int32_t>(chunk.size());
    }
    longest = std::max(longest, end - prefix);
  }
  const std::int32_t question = is_offset ? physical : prefix + longest;
  const bool is_plain = sequence.segments.size() == 1 && prefix > 0 && Pick(0, 1) == 1;
  for (int questions = Pick(1, 3); questions > 0; --questions) {
    Append(sequence, SegmentKind::kSuffix, is_plain ? std::vector<TokenId>() : Piece(20), question);
    Read(sequence, static_cast<std::int32_t>(sequence.rows()) - 1);
    if (is_plain || Pick(0, 2) > 0) {
      const std::int64_t count = Pick(1, Pick(0, 4) == 0 ? 90 : 12);
      request.choosers.push_back(std::make_shared<Greedy>(count));
      request.generations.push_back(
          {0, sequence.segments.size() - 1, count, request.choosers.back()});
    }
  }
  request.sequences = {sequence};
  return request;
}

}  // namespace scorecast::coordinator
