// The tables of docs/requests.md that list the fields of requests are those that the forms give.
//
// After a change of a description in proto/scorecast.proto, this writes them anew:
//
//   SCORECAST_WRITE_TABLES=1 build/dev/tests/coordinator/endpoints/endpoints_test
//   --gtest_filter='FieldTables.*'

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/json/body_form.h"
#include "proto/scorecast.pb.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace field_tables_test {

std::string Quoted(const std::string& text) { return "`" + text + "`"; }

std::string Text(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number);
  return text;
}

std::string DefaultOf(const FormField& field) {
  if (field.is_required) {
    return "required";
  }
  if (field.excludes_other_names) {
    return "one name is required";
  }
  return field.default_json.empty() ? "" : Quoted(field.default_json);
}

std::string RangeOf(const FormField& field) {
  if (field.minimum && field.maximum) {
    return *field.minimum == *field.maximum ? Text(*field.minimum)
                                            : Text(*field.minimum) + " to " + Text(*field.maximum);
  }
  if (field.minimum) {
    return "from " + Text(*field.minimum);
  }
  return field.maximum ? "up to " + Text(*field.maximum) : "";
}

std::string RowOf(const FormField& field) {
  std::string row = "|";
  for (const std::string& cell : {Quoted(field.name), field.shape.Description(), DefaultOf(field),
                                  RangeOf(field), field.description}) {
    row += cell.empty() ? " |" : " " + cell + " |";
  }
  return row + "\n";
}

std::vector<std::string> RowsOf(const BodyForm& form) {
  std::vector<std::string> rows;
  for (const FormField& field : form.fields()) {
    rows.push_back(RowOf(field));
  }
  return rows;
}

/// A row for each name of the form, without the rows of `others`.
std::string TableOf(const BodyForm& form, const std::set<std::string>& others) {
  std::string table = "| field | type | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const std::string& row : RowsOf(form)) {
    table += others.contains(row) ? "" : row;
  }
  return table;
}

/// Adds the tables of the objects in the values of a shape.
void AddObjects(const JsonShape& shape, std::map<std::string, std::string>& tables) {
  if (shape.form != nullptr) {
    tables[shape.form->name()] = TableOf(*shape.form, {});
    for (const FormField& field : shape.form->fields()) {
      AddObjects(field.shape, tables);
    }
  }
  for (const JsonShape& value : shape.shapes) {
    AddObjects(value, tables);
  }
}

/// The tables by the names of their forms. RequestOptions has what all requests share. A dialect
/// has what differs from its message's own form.
std::map<std::string, std::string> Tables() {
  const BodyForm shared(*v1::RequestOptions::descriptor());
  const std::vector<std::string> shared_rows = RowsOf(shared);
  std::map<std::string, std::string> tables = {{shared.name(), TableOf(shared, {})}};
  for (const Endpoint* endpoint : Endpoints()) {
    for (const BodyForm* form : endpoint->forms()) {
      std::set<std::string> others(shared_rows.begin(), shared_rows.end());
      if (form->is_dialect()) {
        for (std::string& row : RowsOf(BodyForm(form->message()))) {
          others.insert(std::move(row));
        }
      }
      tables[form->name()] = TableOf(*form, others);
      for (const FormField& field : form->fields()) {
        AddObjects(field.shape, tables);
      }
    }
  }
  return tables;
}

/// The page with these tables. A table follows the line "<!-- fields of FORM -->". Takes the tables
/// that the page has out of `tables`.
std::string WithTables(const std::string& page, std::map<std::string, std::string>& tables) {
  const std::string mark = "<!-- fields of ";
  std::istringstream lines(page);
  std::string written;
  bool is_in_table = false;
  for (std::string line; std::getline(lines, line);) {
    is_in_table = is_in_table && line.starts_with('|');
    if (!is_in_table) {
      written += line + "\n";
    }
    if (line.starts_with(mark)) {
      const auto table =
          tables.extract(line.substr(mark.size(), line.find(' ', mark.size()) - mark.size()));
      EXPECT_FALSE(table.empty()) << line << " is there twice, or names no form";
      written += table.empty() ? "" : table.mapped();
      is_in_table = true;
    }
  }
  return written;
}

TEST(FieldTables, AreThoseOfTheDocumentation) {
  const std::filesystem::path path =
      std::filesystem::path(reference::kTestsDirectory).parent_path() / "docs/requests.md";
  std::ostringstream page;
  page << std::ifstream(path).rdbuf();
  std::map<std::string, std::string> tables = Tables();
  const std::string written = WithTables(page.str(), tables);
  for (const auto& [name, table] : tables) {
    ADD_FAILURE() << "docs/requests.md has no table of " << name << ":\n" << table;
  }
  if (std::getenv("SCORECAST_WRITE_TABLES") != nullptr) {
    std::ofstream(path) << written;
    return;
  }
  EXPECT_EQ(page.str(), written) << "See the top of field_tables_test.cc.";
}

}  // namespace field_tables_test
}  // namespace scorecast::coordinator
