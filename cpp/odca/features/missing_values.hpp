// What stands for a value that is missing, in cells of tables, in JSON and in dictionaries alike.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "odca/features/number.hpp"

namespace odca::text {

class MissingValues {
 public:
  // An empty text, and the words that pandas takes for missing values, NaT, and the question mark of the UCI's files.
  MissingValues() = default;
  // An empty text, and these. One that is a number stands for all numbers of its value, however they are written.
  explicit MissingValues(const std::vector<std::string>& words) : usual_(false), words_(words) {
    for (const std::string& word : words) {
      double number = 0.0;
      const char* const end = word.data() + word.size();
      if (!word.empty() && read_number(word.data(), end, number) == end) numbers_.push_back(number);
    }
  }

  bool has_numbers() const { return !numbers_.empty(); }
  bool has(double number) const { return std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end(); }
  bool has(std::string_view text) const {
    if (text.empty()) return true;
    return usual_ ? is_usual(text) : is_given(text);
  }

 private:
  static bool is_usual(std::string_view text) {
    static constexpr std::string_view words[] = {"NA",  "NaN",      "nan",    "?",       "null",    "NULL",    "None",
                                                 "N/A", "n/a",      "#N/A",   "<NA>",    "NaT",     "-nan",    "-NaN",
                                                 "#NA", "#N/A N/A", "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"};
    constexpr std::size_t longest = 8;
    if (text.size() > longest || !std::strchr("Nn?#<-1", text.front())) return false;
    return std::find(std::begin(words), std::end(words), text) != std::end(words);
  }
  bool is_given(std::string_view text) const {
    if (std::find(words_.begin(), words_.end(), text) != words_.end()) return true;
    double number = 0.0;
    const char* const end = text.data() + text.size();
    return has_numbers() && read_number(text.data(), end, number) == end && has(number);
  }

  bool usual_ = true;
  std::vector<std::string> words_;
  std::vector<double> numbers_;
};

}  // namespace odca::text
