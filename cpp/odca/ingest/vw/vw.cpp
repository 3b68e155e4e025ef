#include "odca/ingest/vw/vw.hpp"

#include <deque>

#include "odca/features/builder.hpp"
#include "odca/ingest/tokens.hpp"

namespace odca::text {

namespace {

constexpr Characters ends_name(" \t:|"), begins_number("+-.:0123456789");

class Reader {
 public:
  Reader(const FeatureOptions& options, Block& block) : builder_(options, block), plain_(builder_.field("")) {}

  void read(std::string_view line) {
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) {
      if (!Tokens(line).next().empty())
        throw Fault{"expected a bar, '|', before the features; got " + shown(line), line};
      return;
    }
    if (const std::size_t stray = line.find('\r'); stray != std::string_view::npos)
      throw Fault{"there is a carriage return inside the line. End lines with a newline", line.substr(stray)};
    read_head(line.substr(0, bar));
    numbers_.clear();
    const char *p = line.data() + bar, *const end = line.data() + line.size();
    while (p != end) p = read_namespace(p + 1, end);
    builder_.finish(line);
  }

  void expect(std::size_t bytes) { builder_.expect(bytes); }
  void forget() { builder_.forget(); }
  void close() { builder_.close(); }

 private:
  // Label, importance, initial prediction, tag.
  void read_head(std::string_view head) {
    std::string_view numbers[3];
    int count = 0;
    Tokens tokens(head);
    for (std::string_view token = tokens.next(); !token.empty(); token = tokens.next()) {
      if (token.front() == '\'' || token.data() + token.size() == head.data() + head.size()) {
        builder_.tag(token.substr(token.front() == '\''), token);
        if (!tokens.next().empty()) throw Fault{"expected '|' behind the tag " + shown(token), token};
        break;
      }
      if (count == 3)
        throw Fault{"expected a tag or '|' behind label, importance and initial prediction; got " + shown(token),
                    token};
      numbers[count++] = token;
    }
    if (count > 0) builder_.label(finite(numbers[0], "the label"));
    if (count > 1) builder_.weight(finite(numbers[1], "the importance"));
    if (count > 2) builder_.offset(finite(numbers[2], "the initial prediction"));
  }

  // From behind a bar up to the next one, or the end.
  const char* read_namespace(const char* p, const char* const end) {
    NamedField* field = &plain_;
    double factor = 1.0;
    nameless_ = 0;
    if (p != end && !is_blank(*p) && *p != '|') {
      const char* const from = p;
      while (p != end && !is_blank(*p) && *p != '|' && *p != ':') ++p;
      if (p == from)
        throw Fault{"expected the name of a namespace before its weight, or a blank before a feature", {p, 1}};
      field = &builder_.field({from, static_cast<std::size_t>(p - from)});
      if (p != end && *p == ':') {
        const char* const digits = ++p;
        while (p != end && !is_blank(*p) && *p != '|') ++p;
        factor = finite({digits, static_cast<std::size_t>(p - digits)}, "the weight of a namespace");
      }
    }
    const bool plain = field->kept && factor == 1.0;
    while (true) {
      p = behind_blanks(p, end);
      if (plain) p = behind_blanks(read_plain(*field, p, end), end);
      if (p == end || *p == '|') return p;
      p = read_feature(*field, factor, p, end);
    }
  }

  const char* read_plain(const NamedField& field, const char* p, const char* const end) {
    const bool numbers = builder_.takes_numbers(field);
    return read_plain_features<' ', '\t', ':', '|'>(p, end, [&](std::string_view name, double value) {
      const std::int64_t number = numbers && (name.front() != '0' || name.size() == 1) ? plain_number(name) : -1;
      if (number >= 0)
        builder_.numbered(static_cast<std::uint64_t>(number), value);
      else
        builder_.named(field, name, value);
      return true;
    });
  }

  const char* read_feature(NamedField& field, double factor, const char* p, const char* const end) {
    const char* const from = p;
    FeatureHash hash = field.prefix_hash;
    while (p != end && !ends_name.has(*p)) hash.add(static_cast<unsigned char>(*p++));
    std::string_view name(from, static_cast<std::size_t>(p - from));
    double value = 1.0;
    if (p != end && *p == ':') {
      const char* const digits = ++p;
      p = read_number(digits, end, value);
      if (p == digits || (p != end && !is_blank(*p) && *p != '|') || !std::isfinite(value)) {
        while (p != end && !is_blank(*p) && *p != '|') ++p;
        const std::string_view text(digits, static_cast<std::size_t>(p - digits));
        if (!name.empty() && is_word(text)) {
          if (field.kept) builder_.category(field, name, text, factor);
          return p;
        }
        value = finite(text, "the value of a feature");
      }
    }
    if (!field.kept) return p;
    if (!std::isfinite(factor * value))
      throw Fault{"a value times the weight of its namespace is too large for a float",
                  {from, static_cast<std::size_t>(p - from)}};
    if (name.empty()) hash.add(name = numbers_.emplace_back(std::to_string(nameless_++)));
    builder_.named(field, name, hash, factor * value);
    return p;
  }

  // Whether a value is text, as in colour:red, and no number gone wrong.
  static bool is_word(std::string_view text) {
    if (text.empty() || begins_number.has(text.front())) return false;
    std::string lower(text.substr(0, 9));
    for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return lower != "nan" && lower != "inf" && lower != "infinity";
  }

  Builder builder_;
  NamedField& plain_;
  int nameless_ = 0;                 // features of the namespace that have no name, so far
  std::deque<std::string> numbers_;  // names of features without one
};

}  // namespace

void read_vw(std::string_view text, const FeatureOptions& options, bool skip_bad, Block& block) {
  Reader reader(options, block);
  reader.expect(text.size());
  read_lines(text, {}, skip_bad, block, [&](std::string_view line) { reader.read(line); }, [&] { reader.forget(); });
  reader.close();
}

}  // namespace odca::text
