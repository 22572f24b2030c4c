#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/rerank/rerank_template.h"
#include "coordinator/templates/template_sections.h"
#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// A template's prompt for one tokenizer: its control tokens as ids, and the text between them,
/// which is tokenized together with query, instruction and document. Those are plain text: no
/// control token is found in them.
class TemplateTokens {
 public:
  /// `tokenizer` must outlive the result. `why_not` gets one line if the template needs something
  /// that the tokenizer does not have; the result is then empty.
  static std::optional<TemplateTokens> Make(const RerankTemplate& from, const Tokenizer& tokenizer,
                                            std::string& why_not);

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  bool is_document_first() const { return is_document_first_; }
  bool takes_instruction() const { return takes_instruction_; }
  /// A control token of the template that a text spells; null if it spells none. Texts of clients
  /// that write the whole prompt themselves do.
  const std::string* ControlTokenIn(std::string_view text) const;

  /// The prompt from its start (BOS, if the tokenizer adds one). The run with the document is the
  /// only one that has parts of that kind.
  const std::vector<TemplateSection>& sections(bool with_instruction) const {
    return with_instruction ? with_instruction_ : without_instruction_;
  }

 private:
  explicit TemplateTokens(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  const Tokenizer* tokenizer_;
  std::vector<std::string> control_tokens_;  ///< Those that the template's own text spells.
  bool is_document_first_ = false;
  bool takes_instruction_ = false;
  std::vector<TemplateSection> with_instruction_;
  std::vector<TemplateSection> without_instruction_;
};

}  // namespace scorecast::coordinator
