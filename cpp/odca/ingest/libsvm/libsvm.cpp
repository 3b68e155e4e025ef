#include "odca/ingest/libsvm/libsvm.hpp"

#include "odca/features/builder.hpp"
#include "odca/ingest/tokens.hpp"

namespace odca::text {

namespace {

// One stray index would make a model of as many weights.
constexpr std::uint64_t most_index = (1 << 25) - 1;

class Reader {
 public:
  Reader(const FeatureOptions& options, Block& block)
      : builder_(options, block), plain_(builder_.field("")), indices_(options.space == Space::indices) {}

  void read(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const char *p = line.data(), *const end = p + line.size();
    p = behind_blanks(p, end);
    if (p == end) return;
    const std::string_view label = token(p, end);
    builder_.label(finite(label, "the label"));
    p = behind_blanks(label.data() + label.size(), end);
    if (end - p > 4 && std::string_view(p, 4) == "qid:") {
      const std::string_view query = token(p + 4, end);
      builder_.group(query_of(query));
      p = behind_blanks(query.data() + query.size(), end);
    }
    while ((p = behind_blanks(indices_ || numbers_ ? read_plain(p, end) : p, end)) != end) p = read_feature(p, end);
    builder_.finish(line);
  }

  void expect(std::size_t bytes) { builder_.expect(bytes); }
  void forget() { builder_.forget(); }
  void close() { builder_.close(); }

 private:
  // Up to the next blank: nothing, if one is here.
  static std::string_view token(const char* const from, const char* const end) {
    const char* p = from;
    while (p != end && !is_blank(*p)) ++p;
    return {from, static_cast<std::size_t>(p - from)};
  }

  // It is kept as a double: of larger numbers several would become one.
  static double query_of(std::string_view text) {
    const double query = finite(text, "the query after 'qid:'");
    if (query != std::trunc(query) || std::abs(query) >= 9007199254740992.0)
      throw Fault{"the query after 'qid:' must be a whole number below 2^53; got " + shown(text), text};
    return query;
  }

  const char* read_plain(const char* p, const char* const end) {
    return read_plain_features<' ', '\t', ':'>(p, end, [this](std::string_view name, double value) {
      const std::int64_t index = plain_number(name);
      if (index < 0 || index > static_cast<std::int64_t>(most_index)) return false;
      if (numbers_)
        builder_.numbered(static_cast<std::uint64_t>(index), value);
      else
        builder_.indexed(static_cast<std::int32_t>(index), value);
      return true;
    });
  }

  const char* read_feature(const char* const from, const char* const end) {
    std::uint64_t index = 0;
    const char* p = read_digits(from, end, index);
    if (p - from > 19) index = most_index + 1;  // it may have wrapped around
    const std::string_view name(from, static_cast<std::size_t>(p - from));
    if (name.empty() || p == end || *p != ':')
      throw Fault{"expected index:value; got " + shown(token(from, end)), token(from, end)};
    double value = 0.0;
    const char* const digits = ++p;
    p = read_number(digits, end, value);
    if (p == digits || (p != end && !is_blank(*p)) || !std::isfinite(value))
      value = finite(token(digits, end), "a value"), p = digits + token(digits, end).size();
    if (numbers_ && name.size() <= 18) {
      builder_.numbered(index, value);
    } else if (!indices_) {
      builder_.named(plain_, name, value);
    } else if (index <= most_index) {
      builder_.indexed(static_cast<std::int32_t>(index), value);
    } else {
      throw Fault{"the index " + std::string(name) + " is above " + std::to_string(most_index) +
                      ": a model would have a weight for every index up to it. Take indices as names, or hash them",
                  name};
    }
    return p;
  }

  Builder builder_;
  NamedField& plain_;
  bool indices_;
  bool numbers_ = builder_.takes_numbers(plain_);  // indices are hashed, to what they are
};

}  // namespace

void read_libsvm(std::string_view text, const FeatureOptions& options, bool skip_bad, Block& block) {
  Reader reader(options, block);
  reader.expect(text.size());
  read_lines(text, {}, skip_bad, block, [&](std::string_view line) { reader.read(line); }, [&] { reader.forget(); });
  reader.close();
}

}  // namespace odca::text
