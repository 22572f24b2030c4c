#include "tests/coordinator/schedule/random_jobs.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <gtest/gtest.h>

#include "coordinator/schedule/pages/capacity.h"
#include "tests/coordinator/fake_cluster.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {

using proto::PackedSequence;
using proto::RowLogits;
using proto::SegmentKind;
using proto::TokenId;

namespace {

/// The tokens that the chooser must have chosen, computed from the sequence alone. At most `count`.
std::vector<TokenId> TokensAlone(PackedSequence sequence, const Generation& generation,
                                 const RandomChooser& chooser, std::size_t count) {
  const std::shared_ptr<RandomChooser> alone = chooser.Again();
  std::int32_t end = 0;
  for (std::size_t i = 0; i <= generation.segment; ++i) {
    end += sequence.segments[i].length;
  }
  auto choice = TokenChooser::Choice::Kind::kToken;
  while (choice != TokenChooser::Choice::Kind::kEnd && alone->tokens().size() < count) {
    proto::RowRead read = alone->Wanted();
    read.row = end - 1;
    sequence.label_lists = {alone->Labels()};
    choice = alone->Take(ExpectedRow(sequence, read, kVocabSize)).kind;
    if (choice == TokenChooser::Choice::Kind::kToken) {
      sequence.tokens.insert(sequence.tokens.begin() + end, alone->tokens().back());
      ++sequence.segments[generation.segment].length;
      ++end;
    }
  }
  return alone->tokens();
}

void ExpectRow(const RowLogits& row, const RowLogits& expected) {
  EXPECT_EQ(row.label_logits, expected.label_logits);
  EXPECT_EQ(row.max, expected.max);
  EXPECT_EQ(row.sum_exp, expected.sum_exp);
  EXPECT_EQ(row.top, expected.top);
  EXPECT_EQ(row.drawn, expected.drawn);
  EXPECT_EQ(row.mass_bins, expected.mass_bins);
  EXPECT_EQ(row.masses, expected.masses);
}

}  // namespace

std::uint64_t RandomChooser::Number(std::uint64_t purpose) const {
  std::uint64_t x = seed_ + 0x9E3779B97F4A7C15u * (4 * tokens_.size() + purpose);  // SplitMix64.
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

proto::RowRead RandomChooser::Wanted() const {
  proto::RowRead read{.normalizer = true};
  switch (seed_ % 3) {
    case 0:
      read.top_k = 1;
      break;
    case 1:
      read.temperature = 0.5F;
      read.draw = proto::Draw{seed_, static_cast<std::uint32_t>(tokens_.size())};
      break;
    default:
      read.temperature = 2;
      read.top_k = reads_again_ ? 9 : 3;
      break;
  }
  read.excludes_labels = !labels_.empty();
  return read;
}

TokenChooser::Choice RandomChooser::Take(const RowLogits& row) {
  reads_again_ = !reads_again_ && Number(1) % 5 == 0;
  if (reads_again_) {
    return {Choice::Kind::kReadAgain};
  }
  TokenId token = row.top.empty() ? row.drawn.at(0).id : row.top[Number(2) % row.top.size()].first;
  for (std::size_t i = 0; i < row.label_logits.size(); ++i) {
    token = row.label_logits[i] > row.max ? labels_[i] : token;
  }
  tokens_.push_back(token);
  if (seed_ % 2 == 0) {
    std::vector<TokenId> labels = tokens_;
    labels.push_back(static_cast<TokenId>(Number(0) % kVocabSize));
    std::ranges::sort(labels);
    labels.erase(std::ranges::unique(labels).begin(), labels.end());
    labels_ = std::move(labels);
  }
  const bool ends = static_cast<std::int64_t>(tokens_.size()) == max_tokens_ || Number(3) % 25 == 0;
  return ends ? Choice{} : Choice{Choice::Kind::kToken, tokens_.back()};
}

Job RandomJob::MakeJob(std::function<void(JobResult)> done) const {
  Job job;
  job.sequences = sequences;
  job.generations = generations;
  job.cache_salt = salt;
  job.done = std::move(done);
  return job;
}

RandomJob RandomJob::Again() const {
  RandomJob again = *this;
  for (std::size_t i = 0; i < choosers.size(); ++i) {
    again.choosers[i] = choosers[i]->Again();
    again.generations[i].chooser = again.choosers[i];
  }
  return again;
}

std::int64_t RandomJob::rows() const {
  std::int64_t rows = 0;
  for (const PackedSequence& sequence : sequences) {
    rows += sequence.rows();
  }
  return rows;
}

void ExpectAsIfAlone(const RandomJob& job, const JobResult& result) {
  ASSERT_TRUE(result.rows.has_value()) << result.rows.error().message;
  ASSERT_EQ(result.rows.value().size(), job.sequences.size());
  for (std::size_t i = 0; i < job.sequences.size(); ++i) {
    const PackedSequence& sequence = job.sequences[i];
    const std::vector<RowLogits>& rows = result.rows.value()[i];
    ASSERT_EQ(rows.size(), sequence.reads.size());
    for (std::size_t j = 0; j < rows.size(); ++j) {
      SCOPED_TRACE("sequence " + std::to_string(i) + ", read " + std::to_string(j));
      ExpectRow(rows[j], ExpectedRow(sequence, sequence.reads[j], kVocabSize));
    }
  }
  EXPECT_LE(result.cached_tokens, job.rows());
  ExpectTokensAsIfAlone(job, /*is_dropped=*/false);
}

void ExpectTokensAsIfAlone(const RandomJob& job, bool is_dropped) {
  for (std::size_t i = 0; i < job.generations.size(); ++i) {
    const Generation& generation = job.generations[i];
    const std::vector<TokenId>& tokens = job.choosers[i]->tokens();
    EXPECT_EQ(tokens, TokensAlone(job.sequences[generation.sequence], generation, *job.choosers[i],
                                  is_dropped ? tokens.size()
                                             : static_cast<std::size_t>(generation.max_new_tokens)))
        << "completion " << i;
  }
}

RandomJobMaker::RandomJobMaker(std::uint64_t seed, const proto::PlanLimits& limits)
    : random_(seed), limits_(limits), texts_(Pick(2, 8)) {
  for (int& weight : weights_) {
    weight = std::array{0, 1, 1, 8}[static_cast<std::size_t>(Pick(0, 3))];
  }
  weights_[kOneRow] = std::max(weights_[kOneRow], 1);
  longest_ = std::min(Pick(1, 6) * limits.max_rows, limits.kept_kv_rows);
  longest_ = std::clamp(longest_, 1, 1200);
}

RandomJob RandomJobMaker::Make() {
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::discrete_distribution<std::size_t> kinds(weights_.begin(), weights_.end());
    RandomJob job;
    AddSequences(static_cast<Kind>(kinds(random_)), job);
    job.salt = OneIn(5) ? "salt" : "";
    bool fits = true;
    for (std::size_t i = 0; i < job.sequences.size(); ++i) {
      std::vector<Generation> own;
      std::ranges::copy_if(job.generations, std::back_inserter(own),
                           [&](const Generation& generation) { return generation.sequence == i; });
      fits = fits && !CapacityFault(job.sequences[i], limits_, own);
    }
    if (fits) {
      return job;
    }
  }
  return MakeSmallest();
}

RandomJob RandomJobMaker::MakeSmallest() {
  RandomJob job;
  job.sequences.push_back(Prompt(1));
  ReadLast(job.sequences.back());
  return job;
}

std::vector<TokenId> RandomJobMaker::Piece(int longest) {
  const int text = Pick(1, texts_);
  const int shared = text % 2 == 0 ? 40 : 70;  // Texts of a family share their beginning.
  std::vector<TokenId> tokens;
  for (int i = 0, n = OneIn(4) ? longest : Pick(1, longest); i < n; ++i) {
    tokens.push_back((i < shared ? i * 7 + text % 2 : i * 5 + text * 11) %
                     static_cast<int>(kVocabSize));
  }
  return tokens;
}

void RandomJobMaker::Read(PackedSequence& sequence, std::int32_t row) {
  proto::RowRead read{.row = row, .label_list = Pick(0, 1)};
  if (OneIn(2)) {
    read.normalizer = true;
    read.top_k = Pick(0, 3);
    read.temperature = OneIn(3) ? 0.7F : 1.0F;
    if (OneIn(4)) {
      read.draw = proto::Draw{random_(), static_cast<std::uint32_t>(row), Pick(1, 8)};
      read.bin_width = OneIn(2) ? proto::MassBins::kMostWidth : 0;
    }
  }
  if (sequence.label_lists.empty()) {
    sequence.label_lists = {{1, 2, 3}, {static_cast<TokenId>(kVocabSize) - 1}};
  }
  sequence.reads.push_back(read);
}

void RandomJobMaker::ReadLast(PackedSequence& sequence) {
  Read(sequence, static_cast<std::int32_t>(sequence.rows()) - 1);
}

void RandomJobMaker::AddCompletion(RandomJob& job, std::size_t segment, int longest) {
  const std::int64_t tokens = Pick(1, longest);
  job.choosers.push_back(std::make_shared<RandomChooser>(random_(), tokens));
  job.generations.push_back({job.sequences.size() - 1, segment, tokens, job.choosers.back()});
}

PackedSequence RandomJobMaker::Prompt(int longest) {
  PackedSequence sequence;
  Append(sequence, SegmentKind::kPrefix, Piece(longest), 0);
  return sequence;
}

PackedSequence RandomJobMaker::Documents() {
  PackedSequence sequence;
  std::int32_t prefix = 0;
  if (!OneIn(5)) {
    sequence = Prompt(std::min(longest_, 100));
    prefix = static_cast<std::int32_t>(sequence.rows());
  }
  std::int32_t longest = 0;
  for (int groups = Pick(0, 4); groups > 0; --groups) {
    std::int32_t end = prefix;
    for (int chunks = OneIn(3) ? 2 : 1, i = 0; i < chunks; ++i) {
      const std::vector<TokenId> chunk = Piece(std::min(longest_, 150));
      Append(sequence, SegmentKind::kBlock, chunk, end, i > 0);
      end += static_cast<std::int32_t>(chunk.size());
    }
    longest = std::max(longest, end - prefix);
  }
  for (int questions = Pick(1, 3); questions > 0; --questions) {
    Append(sequence, SegmentKind::kSuffix, Piece(std::min(longest_, 20)), prefix + longest);
    ReadLast(sequence);
  }
  return sequence;
}

void RandomJobMaker::AddSequences(Kind kind, RandomJob& job) {
  switch (kind) {
    case kOneRow:
      job = MakeSmallest();
      break;
    case kItems: {
      PackedSequence& sequence = job.sequences.emplace_back(Prompt(std::min(longest_, 200)));
      const auto query = static_cast<std::int32_t>(sequence.rows());
      if (OneIn(2)) {
        Read(sequence, Pick(0, query - 1));
      }
      for (int items = Pick(1, OneIn(5) ? 60 : 8); items > 0; --items) {
        Append(sequence, SegmentKind::kBlock, Piece(OneIn(10) ? 80 : 9), query);
        ReadLast(sequence);
      }
      break;
    }
    case kDocuments:
      job.sequences.push_back(Documents());
      for (std::size_t i = 0; i < job.sequences.back().segments.size(); ++i) {
        if (job.sequences.back().segments[i].kind == SegmentKind::kSuffix && OneIn(3)) {
          AddCompletion(job, i, OneIn(5) ? 90 : 12);
        }
      }
      break;
    case kLong:
      job.sequences.push_back(Prompt(longest_));
      ReadLast(job.sequences.back());
      break;
    case kCompletions: {
      PackedSequence& sequence = job.sequences.emplace_back(Prompt(std::min(longest_, 150)));
      const auto prompt = static_cast<std::int32_t>(sequence.rows());
      for (int completions = OneIn(3) ? Pick(2, 4) : 1; completions > 0; --completions) {
        Append(sequence, SegmentKind::kSuffix, {}, prompt);
        AddCompletion(job, sequence.segments.size() - 1, OneIn(5) ? 200 : 30);
      }
      break;
    }
    case kPrompts: {
      const auto shared = std::make_shared<const std::vector<TokenId>>(Piece(longest_));
      const bool are_last = OneIn(2);
      for (int prompts = Pick(2, 9); prompts > 0; --prompts) {
        PackedSequence& sequence = job.sequences.emplace_back(Prompt(std::min(longest_, 60)));
        if (!OneIn(3)) {
          sequence.shared = {shared, 0, shared->size(), are_last};
          sequence.segments[0].length = static_cast<std::int32_t>(sequence.rows());
        }
        ReadLast(sequence);
      }
      if (OneIn(4)) {
        PackedSequence& sequence = job.sequences.emplace_back(Prompt(std::min(longest_, 60)));
        Append(sequence, SegmentKind::kSuffix, {}, static_cast<std::int32_t>(sequence.rows()));
        AddCompletion(job, 1, 20);
      }
      break;
    }
    case kManyReads: {
      PackedSequence& sequence = job.sequences.emplace_back(Prompt(std::min(longest_, 120)));
      for (std::int32_t row = 0, rows = static_cast<std::int32_t>(sequence.rows()); row < rows;
           ++row) {
        Read(sequence, row);
      }
      break;
    }
    case kWithoutReads:
      job.sequences.push_back(Prompt(std::min(longest_, 200)));
      break;
    case kKinds:
      break;
  }
}

}  // namespace scorecast::coordinator
