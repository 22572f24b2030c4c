#include "coordinator/text/unicode/regex.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "coordinator/text/unicode/regex_syntax.h"

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kMaxExpressionBytes = 65536;
constexpr std::size_t kJitStackFirst = std::size_t{32} << 10;
constexpr std::size_t kJitStackMost = std::size_t{64} << 20;
constexpr std::uint32_t kHeapKibibytes = 1u << 20;  // Limit of the interpreter, which takes over if
                                                    // JIT gives up.

PCRE2_SPTR Units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

/// The memory to which a match is written. Each thread has its own, made once.
class MatchSpace {
 public:
  MatchSpace()
      : data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        jit_stack_(pcre2_jit_stack_create(kJitStackFirst, kJitStackMost, nullptr)) {
    if (data_ == nullptr || context_ == nullptr) {
      Release();
      throw std::bad_alloc();
    }
    pcre2_set_heap_limit(context_, kHeapKibibytes);
    if (jit_stack_ != nullptr) {  // Without JIT there is no stack, and none is needed.
      pcre2_jit_stack_assign(context_, nullptr, jit_stack_);
    }
  }
  MatchSpace(const MatchSpace&) = delete;
  MatchSpace& operator=(const MatchSpace&) = delete;
  ~MatchSpace() { Release(); }

  pcre2_match_data* data() { return data_; }
  pcre2_match_context* context() { return context_; }

 private:
  void Release() {
    pcre2_jit_stack_free(jit_stack_);
    pcre2_match_context_free(context_);
    pcre2_match_data_free(data_);
  }

  pcre2_match_data* data_;
  pcre2_match_context* context_;
  pcre2_jit_stack* jit_stack_;
};

MatchSpace& ThreadMatchSpace() {
  thread_local MatchSpace space;
  return space;
}

}  // namespace

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

Regex::Regex(std::string_view expression) {
  if (expression.size() > kMaxExpressionBytes) {
    throw RegexError("the expression has " + std::to_string(expression.size()) +
                     " bytes, more than " + std::to_string(kMaxExpressionBytes));
  }
  const std::string translated = TranslateOniguruma(expression);
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  if (context == nullptr) {
    throw std::bad_alloc();
  }
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_.reset(pcre2_compile(Units(translated), translated.size(),
                            PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                            context.get()));
  if (code_ == nullptr) {
    std::array<char, 256> message{};
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message.data()), message.size());
    throw RegexError(message.data());
  }
  // Without JIT, pcre2_match interprets the expression, which is slower but finds the same matches.
  pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  std::uint32_t lookbehind = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_MAXLOOKBEHIND, &lookbehind);
  looks_behind_ = lookbehind > 0;
}

int Regex::Match(std::string_view text, std::size_t from, std::uint32_t options) const {
  MatchSpace& space = ThreadMatchSpace();
  // A step is also counted for each character by which the search steps back, as with "\s+(?!\S)"
  // on a megabyte of spaces.
  const std::uint64_t steps = std::uint64_t{64} * (text.size() - from) + 1'000'000;
  pcre2_set_match_limit(space.context(),
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(steps, UINT32_MAX)));
  // The caller has already checked the text once. A check in each call would make the time
  // quadratic.
  options |= PCRE2_NO_UTF_CHECK;
  int count = pcre2_match(code_.get(), Units(text), text.size(), from, options, space.data(),
                          space.context());
  if (count == PCRE2_ERROR_JIT_STACKLIMIT) {
    count = pcre2_match(code_.get(), Units(text), text.size(), from, options | PCRE2_NO_JIT,
                        space.data(), space.context());
  }
  return count;
}

std::optional<RegexMatch> Regex::Find(std::string_view text, std::size_t from) const {
  if (Match(text, from, 0) < 0) {
    return std::nullopt;
  }
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(ThreadMatchSpace().data());
  return RegexMatch{offsets[0], offsets[1]};
}

OpenMatch Regex::FindInOpenText(std::string_view text, std::size_t from) const {
  // With this option, the search ends as soon as an attempt looks past the end of the text. So if
  // it finds a match, it has not looked past the end.
  const int count = Match(text, from, PCRE2_PARTIAL_HARD);
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(ThreadMatchSpace().data());
  if (count >= 0) {
    return {RegexMatch{offsets[0], offsets[1]}, offsets[0]};
  }
  if (count == PCRE2_ERROR_PARTIAL) {
    return {std::nullopt, offsets[0]};
  }
  return {std::nullopt, count == PCRE2_ERROR_NOMATCH ? text.size() : from};
}

}  // namespace scorecast::coordinator
