#include "odca/ingest/json/json.hpp"

#include <deque>
#include <vector>

#include "odca/features/builder.hpp"
#include "odca/features/columns.hpp"
#include "odca/features/dates.hpp"
#include "odca/ingest/json/cursor.hpp"
#include "odca/ingest/tokens.hpp"

namespace odca::text {

namespace {

constexpr int most_depth = 64;

struct Node;

// A key that came before. Lines mostly have the same keys in the same order: what followed a key last time is tried first.
struct Place {
  const Node* parent = nullptr;
  std::string written;  // the key with its quotes and its colon
  Node* node = nullptr;
};

// What stands at a path of keys, "user.age".
struct Node {
  std::string path;
  Role role = Role::feature;
  Field* field = nullptr;       // once it is needed
  std::uint64_t line = 0;       // where it was last
  Place first, next;            // the first key below, the key behind
  std::vector<Node*> elements;  // of an array
};

class Reader {
 public:
  Reader(const JsonRoles& roles, const FeatureOptions& options, Block& block)
      : builder_(options, block, true),
        roles_{{&roles.label, Role::label}, {&roles.weight, Role::weight}, {&roles.offset, Role::offset},
               {&roles.time, Role::time},   {&roles.group, Role::group},   {&roles.tag, Role::tag}} {}

  void read(std::string_view line) {
    cursor_.reset(line);
    if (cursor_.peek() == '\0') return;
    ++line_;
    depth_ = 0;
    if (cursor_.peek() != '{') cursor_.fail_expecting("an object in braces");
    read_object(root_);
    if (cursor_.peek() != '\0') cursor_.fail_expecting("nothing behind the object");
    builder_.finish(line);
  }

  void forget() { builder_.forget(); }
  void close() { builder_.close(); }

 private:
  void read_object(Node& parent) {
    enter();
    if (!cursor_.skip('}')) {
      Place* place = &parent.first;
      do {
        Node& child = read_key(parent, *place);
        place = &child.next;
        read_value(child);
      } while (cursor_.skip(','));
      cursor_.expect('}', "',' or '}'");
    }
    --depth_;
  }

  void read_array(Node& array) {
    enter();
    if (!cursor_.skip(']')) {
      std::size_t place = 0;
      do read_element(array, place++);
      while (cursor_.skip(','));
      cursor_.expect(']', "',' or ']'");
    }
    --depth_;
  }

  void read_value(Node& node) {
    if (node.role != Role::feature) return read_role(node);
    const char c = cursor_.peek();
    if (c == '{') return read_object(node);
    if (c == '[') return read_array(node);
    add(field_of(node), cursor_.scalar());
  }

  // Names belong to the array, whose places mean nothing then; all else belongs to its place.
  void read_element(Node& array, std::size_t place) {
    const char c = cursor_.peek();
    Node& node = element(array, place);
    if (c == '{' || c == '[' || node.role != Role::feature) return read_value(node);
    const JsonScalar scalar = cursor_.scalar();
    Field& field = field_of(array);
    add(is_name(field, scalar) ? field : field_of(node), scalar);
  }

  void enter() {
    if (++depth_ > most_depth)
      throw Fault{"objects and arrays lie more than " + std::to_string(most_depth) + " deep in each other",
                  {cursor_.at(), 1}};
    cursor_.skip(cursor_.peek());
  }

  // A key and its colon.
  Node& read_key(Node& parent, Place& place) {
    cursor_.peek();
    const char* const from = cursor_.at();
    if (place.parent != &parent || !cursor_.skip(place.written)) {
      if (cursor_.peek() != '"') cursor_.fail_expecting("a key in double quotes");
      Node& node = below(parent, cursor_.string());
      cursor_.expect(':', "':' behind a key");
      place.parent = &parent;
      place.written.assign(from, cursor_.at());
      place.node = &node;
    }
    once(*place.node, from);
    return *place.node;
  }

  Node& element(Node& array, std::size_t place) {
    while (array.elements.size() <= place)
      array.elements.push_back(&below(array, std::to_string(array.elements.size())));
    once(*array.elements[place], cursor_.at());
    return *array.elements[place];
  }

  void once(Node& node, const char* where) {
    if (node.line == line_) throw Fault{shown(node.path) + " is there twice", {where, 1}};
    node.line = line_;
  }

  Node& below(const Node& parent, std::string_view key) {
    path_.assign(parent.path);
    if (&parent != &root_) path_ += '.';
    path_ += key;
    const std::int32_t number = paths_.add(FeatureHash().add(path_).mixed(), path_);
    if (static_cast<std::size_t>(number) == nodes_.size()) {
      Node& made = nodes_.emplace_back();
      made.path = path_;
      for (const auto& [path, role] : roles_)
        if (!path->empty() && *path == path_) made.role = role;
    }
    return nodes_[static_cast<std::size_t>(number)];
  }

  Field& field_of(Node& node) {
    if (!node.field) node.field = &builder_.field(node.path);
    return *node.field;
  }

  static bool is_name(const Field& field, const JsonScalar& scalar) {
    using Kind = JsonScalar::Kind;
    if (scalar.kind == Kind::string) return field.kind != Field::Kind::number;
    return scalar.kind != Kind::missing && field.kind == Field::Kind::category;
  }

  void add(Field& field, const JsonScalar& scalar) {
    using Kind = JsonScalar::Kind;
    if (!field.kept) return;
    if (field.name.empty())
      throw Fault{"a feature has no name: its key is empty. Give it one, or ignore it", scalar.where};
    if (scalar.kind == Kind::missing) return builder_.missing(field, scalar.where);
    if (!is_name(field, scalar)) {
      const bool written = scalar.kind == Kind::string;
      return builder_.number(field, written ? finite(scalar.text, field.name.c_str()) : scalar.number, scalar.where);
    }
    if (scalar.kind == Kind::string && field.kind == Field::Kind::text)
      return builder_.words(field, scalar.text, scalar.where);
    builder_.category(field, scalar.text, scalar.where);
  }

  void read_role(const Node& node) {
    using Kind = JsonScalar::Kind;
    const char c = cursor_.peek();
    if (c == '{' || c == '[') fail(node, "must be a single value; got an object or an array", {cursor_.at(), 1});
    const JsonScalar scalar = cursor_.scalar();
    if (scalar.kind == Kind::missing) return;
    if (node.role == Role::label && scalar.kind != Kind::string) return builder_.label(scalar.number);
    if (node.role == Role::label) return builder_.label(scalar.text, scalar.where);
    if (node.role == Role::tag) return builder_.tag(scalar.text, scalar.where);
    if (node.role == Role::time && scalar.kind == Kind::string) return builder_.time(seconds_of(node, scalar));
    if (scalar.kind != Kind::number) fail(node, "must be a number; got " + shown(scalar.where), scalar.where);
    switch (node.role) {
      case Role::weight: return builder_.weight(scalar.number);
      case Role::offset: return builder_.offset(scalar.number);
      case Role::group: return builder_.group(scalar.number);
      default: return builder_.time(scalar.number);
    }
  }

  static double seconds_of(const Node& node, const JsonScalar& scalar) {
    Moment moment;
    const DateCheck found = read_date(scalar.text, moment);
    if (found == DateCheck::impossible) fail(node, "is no date that there is: " + shown(scalar.where), scalar.where);
    if (found == DateCheck::other)
      fail(node, "must be a number or a date such as 2024-07-31T13:05:00; got " + shown(scalar.where), scalar.where);
    return moment.seconds;
  }

  [[noreturn]] static void fail(const Node& node, const std::string& message, std::string_view where) {
    throw Fault{shown(node.path) + " " + message, where};
  }

  struct NamedRole {
    const std::string* path;
    Role role;
  };

  Builder builder_;
  NamedRole roles_[6];
  JsonCursor cursor_;
  Node root_;
  NameTable paths_;
  std::deque<Node> nodes_;  // by the number of their path; they stay where they are
  std::uint64_t line_ = 0;
  int depth_ = 0;
  std::string path_;
};

}  // namespace

void read_json(std::string_view text, const JsonRoles& roles, const FeatureOptions& options, bool skip_bad,
               Block& block) {
  Reader reader(roles, options, block);
  read_lines(text, false, skip_bad, block, [&](std::string_view line) { reader.read(line); }, [&] { reader.forget(); });
  reader.close();
}

}  // namespace odca::text
