// The features of a text: its words and series of them, its series of characters, and what their counts become.
#include <cmath>

#include "odca/features/builder.hpp"
#include "odca/features/unicode.hpp"
#include "odca/math/functions.hpp"

namespace odca::text {

void Builder::text(const Field& field, std::string_view text, std::string_view where) {
  const TextOptions& options = options_.texts;
  if (options.length > 0) text = first_characters(text, options.length);
  if (options.words > 0) words(field, text, where);
  if (options.most_characters > 0) {
    NamedField& part = this->field(std::string(field.name) + ".chars", field.name);
    part.slot = field.slot;
    characters(part, text, where);
  }
  if (options.are_scaled()) finish_text();
}

// `recent_` are the last words with blanks between them, and `begins_` where each begins: series of them are its ends.
void Builder::words(const Field& field, std::string_view text, std::string_view where) {
  recent_.clear(), begins_.clear();
  for (std::size_t at = 0; next_word(text, at, word_);) {
    if (begins_.size() == static_cast<std::size_t>(options_.texts.words)) {
      const std::size_t first = begins_.size() > 1 ? begins_[1] : recent_.size();
      recent_.erase(0, first);
      begins_.erase(begins_.begin());
      for (std::size_t& begin : begins_) begin -= first;
    }
    if (!begins_.empty()) recent_ += ' ';
    begins_.push_back(recent_.size());
    recent_ += word_;
    for (auto begin = begins_.rbegin(); begin != begins_.rend(); ++begin)
      term(field, std::string_view(recent_).substr(*begin), where);
  }
}

// Of each word with the blanks around it; one that is shorter than a series is one by itself.
void Builder::characters(const Field& field, std::string_view text, std::string_view where) {
  const auto fewest = static_cast<std::size_t>(options_.texts.fewest_characters);
  const auto most = static_cast<std::size_t>(options_.texts.most_characters);
  for (std::size_t at = 0; next_token(text, at, word_, begins_);) {
    word_.insert(word_.begin(), ' '), word_ += ' ';
    for (std::size_t& begin : begins_) ++begin;
    begins_.insert(begins_.begin(), {0, 1});  // where characters begin, and where the last one ends
    begins_.push_back(word_.size());
    const std::size_t size = begins_.size() - 1;
    const auto series = [&](std::size_t from, std::size_t to) {
      term(field, std::string_view(word_).substr(begins_[from], begins_[to] - begins_[from]), where);
    };
    for (std::size_t n = fewest; n <= most; ++n) {
      for (std::size_t from = 0; from + n <= size; ++from) series(from, from + n);
      if (n > size) series(0, size);
      if (n >= size) break;
    }
  }
}

void Builder::term(const Field& field, std::string_view term, std::string_view where) {
  const FeatureHash hash = category_hash(field, term);
  const std::int32_t index = category_index(hash, field, term, where);
  if (options_.texts.are_scaled())
    terms_.add(hash, index, field.slot);
  else
    add(hash, index, 1.0, field.slot);
}

// Products are made of what is known of the text itself, without the events before.
void Builder::finish_text() {
  const TextOptions& options = options_.texts;
  const auto scaled = [&](const Term& each) { return options.sublinear ? 1.0 + odca::log(each.count) : each.count; };
  double squares = 0.0;
  for (const Term& each : terms_.terms()) squares += scaled(each) * scaled(each);
  const double norm = options.unit_norm ? std::sqrt(squares) : 1.0;
  for (const Term& each : terms_.terms()) {
    const double value = scaled(each);
    if (!options.inverse_frequencies) {
      add(each.hash, each.index, value / norm, each.slot);
    } else {
      block_.texts.add(each.index, value);
      if (each.slot >= 0) add_factor(each.hash, each.index, value / norm, each.slot);
    }
  }
  if (options.inverse_frequencies) block_.texts.finish_text();
  terms_.clear();
}

}  // namespace odca::text
