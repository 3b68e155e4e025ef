#include "odca/ingest/json/guess.hpp"

#include "odca/features/field_names.hpp"
#include "odca/ingest/json/cursor.hpp"
#include "odca/ingest/lines.hpp"

namespace odca::text {

namespace {

constexpr int most_depth = 64;

class Keys {
 public:
  explicit Keys(const MissingValues& missing) : missing_(missing) {}

  void look_at(std::string_view line) {
    cursor_.reset(line);
    skipping_ = false;
    if (cursor_.peek() == '\0') return;
    try {
      if (cursor_.peek() == '{') object("", 0);
    } catch (const Fault&) {  // whoever reads the line says what is wrong with it
    }
    ++rows_;
  }

  std::vector<std::pair<std::string, Tally>> done() {
    for (auto& [path, tally] : found_) tally.skip_to(rows_);
    return std::move(found_);
  }

 private:
  void object(const std::string& path, int depth) {
    cursor_.skip('{');
    if (depth > most_depth || cursor_.skip('}')) return;
    do {
      const std::string key(cursor_.string());
      cursor_.expect(':', "':' behind a key");
      value(path.empty() ? key : path + "." + key, depth);
    } while (cursor_.skip(','));
    cursor_.expect('}', "',' or '}'");
  }

  void array(int depth) {
    cursor_.skip('[');
    if (depth > most_depth || cursor_.skip(']')) return;
    do {
      const char c = cursor_.peek();
      if (c == '{') {
        const bool was_skipping = std::exchange(skipping_, true);
        object("", depth + 1);
        skipping_ = was_skipping;
      } else if (c == '[') {
        array(depth + 1);
      } else {
        cursor_.scalar();
      }
    } while (cursor_.skip(','));
    cursor_.expect(']', "',' or ']'");
  }

  void value(const std::string& path, int depth) {
    const char c = cursor_.peek();
    if (c == '{') return object(path, depth + 1);
    if (c == '[') return array(depth + 1);
    const Value value = cursor_.scalar();
    if (skipping_) return;
    Tally& tally = at(path);
    tally.skip_to(rows_);
    if (value.type == Value::Type::text)
      tally.add(value.text, missing_, true);
    else if (value.is_missing() || (value.type == Value::Type::number && missing_.has(value.number)))
      tally.add_missing();
    else if (value.type == Value::Type::number)
      tally.add(value.number, value.where);
    else
      tally.add(value.where, missing_);
  }

  Tally& at(const std::string& path) {
    const auto number = static_cast<std::size_t>(paths_.add(path));
    if (number == found_.size()) found_.emplace_back(path, Tally());
    return found_[number].second;
  }

  const MissingValues& missing_;
  JsonCursor cursor_;
  FieldNames paths_;
  std::vector<std::pair<std::string, Tally>> found_;
  std::size_t rows_ = 0;
  bool skipping_ = false;  // inside an array
};

}  // namespace

std::vector<std::pair<std::string, Tally>> tally_keys(std::string_view sample, const MissingValues& missing) {
  Keys keys(missing);
  std::uint32_t breaks = 0;
  for (std::size_t at = 0; at < sample.size();) keys.look_at(next_line(sample, at, {}, breaks));
  return keys.done();
}

}  // namespace odca::text
