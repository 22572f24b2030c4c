#pragma once

#include <string>
#include <string_view>

namespace scorecast::launcher {

// Text for a terminal. A terminal of 0 columns is none: lines are then not cut.

/// Number of columns of the terminal if standard output is one, else 0.
int TerminalColumns();

/// Number of columns of a bar in lines for a terminal of `columns` columns.
int BarColumns(int columns);

/// Columns that a line has left behind its first `used` ones, at least 1. Unlimited without a
/// terminal.
int ColumnsLeft(int columns, int used);

/// A bar of `columns` columns of which `part`, from 0 to 1, is full. It is drawn in eighths of a
/// column and filled up with spaces.
std::string Bar(double part, int columns);

/// The text, which is UTF-8, in at most `columns` columns. It ends in an ellipsis if it is cut, and
/// control characters become spaces. Bytes that are no character count as one column each.
std::string Fitted(std::string_view text, int columns);

}  // namespace scorecast::launcher
