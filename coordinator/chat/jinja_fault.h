#pragma once

#include <string>
#include <utility>

namespace scorecast::coordinator {

/// A place in a template, counted from 1. Columns are characters.
struct JinjaPlace {
  int line = 0;  ///< 0: not known yet.
  int column = 0;
};

/// What is wrong with a template, or with a conversation that it renders. Thrown inside of this
/// folder, because parser and evaluator are nested calls.
struct JinjaFault {
  enum class Kind {
    kTemplate,  ///< The template is not understood, or does something that makes no sense.
    kRaised,    ///< The template itself refuses the conversation: raise_exception.
    kLimit,     ///< Rendering would take too much time or memory.
    kLeftOut,   ///< The template wants a member of a message that was left out of the conversation.
    kStopped,   ///< Nobody waits for the text any more.
  };

  JinjaFault(std::string what_is_wrong, JinjaPlace at = {}, Kind of = Kind::kTemplate)
      : kind(of), place(at), what(std::move(what_is_wrong)) {}

  /// One line, with the place if it is known.
  std::string Text() const {
    return place.line == 0 ? what
                           : "line " + std::to_string(place.line) + ", column " +
                                 std::to_string(place.column) + ": " + what;
  }

  Kind kind;
  JinjaPlace place;
  std::string what;
};

}  // namespace scorecast::coordinator
