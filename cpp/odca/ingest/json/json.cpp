#include "odca/ingest/json/json.hpp"

#include <deque>
#include <vector>

#include "odca/features/builder.hpp"
#include "odca/features/columns.hpp"
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
  bool is_time = false;         // a feature that is the event's time too
  Field* field = nullptr;       // once it is needed
  std::uint64_t line = 0;       // where it was last
  Place first, next;            // the first key below, the key behind
  std::vector<Node*> elements;  // of an array
};

class Reader {
 public:
  Reader(const RoleNames& roles, const FeatureOptions& options, Block& block)
      : builder_(options, block, options.nested), roles_(roles) {}

  void read(std::string_view line) {
    cursor_.reset(line);
    if (cursor_.peek() == '\0') return;
    ++line_;
    depth_ = 0;
    if (cursor_.peek() == '[')
      cursor_.fail_expecting(
          "an object in braces on each line, not a list of them (jq -c '.[]' makes lines of a list)");
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
    const Value value = cursor_.scalar();
    if (node.is_time) set_also_time(builder_, value);
    builder_.value(field_of(node), value);
  }

  // Names belong to the array, whose places mean nothing then; all else belongs to its place.
  void read_element(Node& array, std::size_t place) {
    const char c = cursor_.peek();
    Node& node = element(array, place);
    if (c == '{' || c == '[' || node.role != Role::feature) return read_value(node);
    const Value value = cursor_.scalar();
    Field& field = field_of(array);
    builder_.value(Builder::belongs_to_array(field, value) ? field : field_of(node), value);
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
      made.role = roles_.role_of(path_);
      made.is_time = made.role == Role::feature && path_ == roles_.also_time;
    }
    return nodes_[static_cast<std::size_t>(number)];
  }

  Field& field_of(Node& node) {
    if (!node.field) node.field = &builder_.field(node.path);
    return *node.field;
  }

  void read_role(const Node& node) {
    const char c = cursor_.peek();
    if (c == '{' || c == '[')
      throw Fault{shown(node.path) + " must be a single value; got an object or an array", {cursor_.at(), 1}};
    set_role(builder_, node.role, node.path, cursor_.scalar());
  }

  Builder builder_;
  const RoleNames& roles_;
  JsonCursor cursor_;
  Node root_;
  NameTable paths_;
  std::deque<Node> nodes_;  // by the number of their path; they stay where they are
  std::uint64_t line_ = 0;
  int depth_ = 0;
  std::string path_;
};

}  // namespace

void read_json(std::string_view text, const RoleNames& roles, const FeatureOptions& options, bool skip_bad,
               Block& block) {
  Reader reader(roles, options, block);
  read_lines(text, {}, skip_bad, block, [&](std::string_view line) { reader.read(line); }, [&] { reader.forget(); });
  reader.close();
}

}  // namespace odca::text
