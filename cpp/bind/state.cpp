#include "bind/state.hpp"

#include <string>

#include "bind/arrays.hpp"
#include "odca/errors.hpp"

namespace odca::bind {

namespace {

// Visits every field by its name: scalars and vectors under a prefix, the timeline level by level.
template <class Leaf>
struct Walk {
  Leaf leaf;
  std::string prefix;

  template <class T>
  void operator()(const char* name, T& field) {
    leaf(prefix + name, field);
  }
  void operator()(const char* name, std::vector<Timeline::Level>& levels) {
    std::int64_t n = static_cast<std::int64_t>(levels.size());
    leaf(prefix + name, n);
    if (n < 1 || n > 8) throw InputError("state field '" + prefix + name + "' must lie in 1..8");
    levels.resize(n);
    for (std::int64_t l = 0; l < n; ++l) levels[l].each_field(Walk{leaf, prefix + std::to_string(l) + "."});
  }
};

template <class Leaf>
void walk(State& state, EventBuffer::Table& table, Leaf leaf) {
  state.each_field(Walk<Leaf>{leaf, ""});
  if (state.smoothing) state.timeline.each_field(Walk<Leaf>{leaf, "timeline."});
  table.each_field(Walk<Leaf>{leaf, "window."});
  if (!state.scaling.on) return;
  state.scaling.each_field(Walk<Leaf>{leaf, "scaling."});
  leaf("window.raw", table.raw);
}

struct Store {
  nb::dict& out;

  template <class T, class Memory>
  void operator()(const std::string& name, std::vector<T, Memory>& field) const {
    out[name.c_str()] = to_numpy(std::vector<T>(field.begin(), field.end()));
  }
  template <class T>
  void operator()(const std::string& name, T& field) const {
    out[name.c_str()] = to_numpy(std::vector<T>{field});
  }
};

struct Fetch {
  const nb::dict& in;

  template <class T, class Memory>
  void operator()(const std::string& name, std::vector<T, Memory>& field) const {
    if (!in.contains(name.c_str())) throw InputError("the state has no field '" + name + "'");
    const Vector<T> array = named_array<T>(in[name.c_str()], name);
    field.assign(array.data(), array.data() + array.shape(0));
  }
  template <class T>
  void operator()(const std::string& name, T& field) const {
    std::vector<T> one;
    (*this)(name, one);
    if (one.size() != 1) throw InputError("state field '" + name + "' must hold one number");
    field = one[0];
  }
};

Fields fields_of(State state) {
  EventBuffer::Table table = state.buffer.table();
  Fields out;
  walk(state, table, Store{out});
  return out;
}

State read_state(const Learner& learner, const Fields& fields, EventBuffer::Table& table) {
  State state = learner.config().empty_state();
  walk(state, table, Fetch{fields});
  state.features = static_cast<std::int64_t>(state.dual.size()) / state.lanes;
  return state;
}

}  // namespace

Fields get_state(const Learner& learner) {
  State state;
  {
    const nb::gil_scoped_release free_threads;
    state = learner.state();
  }
  return fields_of(std::move(state));
}

void set_state(Learner& learner, const Fields& fields) {
  EventBuffer::Table table;
  Fields complete(fields);
  // States that were saved before learners could be split: the constant strength is that of the options.
  if (!fields.contains("constant"))
    complete["constant"] = to_numpy(std::vector<double>(learner.config().prior_strength));
  State state = read_state(learner, complete, table);
  const nb::gil_scoped_release free_threads;
  learner.set_state(std::move(state), table);
}

Fields delta(const Learner& learner, const Learner& base) {
  State gain;
  {
    const nb::gil_scoped_release free_threads;
    gain = learner.delta(base);
  }
  return fields_of(std::move(gain));
}

void apply(Learner& learner, const Fields& fields) {
  EventBuffer::Table table;
  State gain = read_state(learner, fields, table);
  const nb::gil_scoped_release free_threads;
  learner.apply(std::move(gain), table);
}

}  // namespace odca::bind
