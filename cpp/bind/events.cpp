// A learner of events: names and model change together, or not at all.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "bind/arrays.hpp"
#include "bind/encoder.hpp"
#include "bind/short_cut.hpp"
#include "bind/signals.hpp"
#include "bind/state.hpp"
#include "bind/topics.hpp"
#include "odca/learner/learner.hpp"

namespace odca::bind {

namespace {

using EventList = nb::typed<nb::list, nb::any>;
using Floats = nb::typed<nb::list, double>;
using Explanation = nb::typed<nb::tuple, nb::any, nb::ellipsis>;
using Look = nb::typed<nb::callable, nb::object()>;

Floats as_list(const std::vector<double>& numbers) {
  Floats out;
  for (const double x : numbers) out.append(x);
  return out;
}

// Waits without the GIL: whoever is inside may need it.
class Turn {
 public:
  explicit Turn(FairMutex& mutex) : mutex_(mutex) {
    if (mutex_.try_lock()) return;
    const nb::gil_scoped_release free_threads;
    mutex_.lock();
  }
  ~Turn() { mutex_.unlock(); }
  Turn(const Turn&) = delete;

 private:
  FairMutex& mutex_;
};

// One event is learned or predicted while the GIL is held, if nobody else is at the model: that is faster than to let go
// of the GIL. Nobody ever waits for a mutex with the GIL in his hands.
class EventCore {
 public:
  EventCore(nb::object learner, bool single, bool smoothed, std::optional<int> bits, Missing missing)
      : kept_(std::move(learner)),
        learner_(*nb::inst_ptr<Learner>(kept_)),
        single_(single),
        smoothed_(smoothed),
        widens_(!bits && learner_.config().fixed_features == 0),
        encoder_(bits, missing, most_features(bits), learner_.config().intercept ? 1 : 0) {}

  bool single() const { return single_; }
  std::size_t lanes() const { return static_cast<std::size_t>(learner_.config().lanes); }

  // Labels of one event: a number for all lanes, or one for each.
  struct Labels {
    double one = 0.0;
    std::vector<double> many = {};
    Columns columns() const { return many.empty() ? Columns{&one, 0, 0, 0.0} : Columns{many.data(), 0, 1, 0.0}; }
  };

  // False if y must be turned into an array of doubles first.
  bool read_labels(nb::handle y, Labels& out) const {
    if (single_ || PyFloat_Check(y.ptr()) || PyLong_Check(y.ptr())) {
      out.one = number_of(y);
      return true;
    }
    if (!read_many(y, out.many)) return false;
    if (out.many.size() == lanes()) return true;
    throw InputError("y must be a number, or have one for each of " + std::to_string(lanes()) + " lanes; it has " +
                     std::to_string(out.many.size()));
  }

  void learn_one(nb::handle event, const Labels& labels, double weight, double offset, double time, double* margin) {
    if (std::isnan(time) && learner_.config().window.uses_time())
      throw InputError("the window counts in event time; give the time of every event");
    const Turn turn(writing_);
    learned_.clear();
    Names names(encoder_);
    encoder_.encode(event, true, learned_);
    learn({batch(learned_), labels.columns(), {nullptr, 0, 0, weight}, {nullptr, 0, 0, offset}, &time}, margin, names);
  }

  void predict_one(nb::handle event, double offset, double* margin) {
    Rows rows = std::move(spare_);  // several threads may predict: the next one finds none
    rows.clear();
    encoder_.encode(event, false, rows);
    if (!learner_.try_predict(rows.first(), offset, smoothed_, margin)) {
      const Batch one = batch(rows);
      {
        const nb::gil_scoped_release free_threads;
        learner_.predict(one, {nullptr, 0, 0, offset}, smoothed_, margin, signal_arrived);
      }
      raise_if_interrupted();
    }
    spare_ = std::move(rows);
  }

  // The same for wrappers that want the margins of the lanes as a list, which is quicker to make than an array.
  Floats learn_lanes(nb::handle event, nb::handle y, double weight, double offset, double time) {
    Labels labels;
    if (!read_labels(y, labels)) throw nb::type_error("y must be a number, a list, a tuple or an array of float64");
    std::vector<double> margin(lanes());
    learn_one(event, labels, weight, offset, time, margin.data());
    return as_list(margin);
  }
  Floats predict_lanes(nb::handle event, double offset) {
    std::vector<double> margin(lanes());
    predict_one(event, offset, margin.data());
    return as_list(margin);
  }

  nb::ndarray<nb::numpy, double> learn_many(const EventList& events, const Matrix2& y,
                                            const std::optional<Matrix2>& weight, const std::optional<Matrix2>& offset,
                                            const std::optional<Vector<double>>& time) {
    const Turn turn(writing_);
    Rows rows;
    Names names(encoder_);
    encode_many(events, y.shape(0), true, rows);
    const Events all{batch(rows), columns(y, 0.0), columns(weight, 1.0), columns(offset, 0.0),
                     time ? time->data() : nullptr};
    std::vector<double> out(static_cast<std::size_t>(rows.size()) * lanes());
    if (rows.size() > 0) learn(all, out.data(), names);  // no event brings no features, hashed ones neither
    return to_numpy(std::move(out), {static_cast<std::size_t>(rows.size()), lanes()});
  }

  nb::ndarray<nb::numpy, double> predict_many(const EventList& events, const std::optional<Matrix2>& offset) {
    Rows rows;
    encode_many(events, offset ? offset->shape(0) : nb::len(nb::handle(events)), false, rows);
    const Batch all = batch(rows);
    std::vector<double> out(static_cast<std::size_t>(rows.size()) * lanes());
    {
      const nb::gil_scoped_release free_threads;
      learner_.predict(all, columns(offset, 0.0), smoothed_, out.data(), signal_arrived);
    }
    raise_if_interrupted();
    return to_numpy(std::move(out), {static_cast<std::size_t>(rows.size()), lanes()});
  }

  // The event's features and what each adds to the margin, [feature][lane]; the intercept, whose name is empty, first.
  Explanation explain(nb::handle event) {
    nb::list features;
    std::vector<std::int32_t> index;
    std::vector<double> value;
    if (learner_.config().intercept) features.append(nb::str("")), index.push_back(0), value.push_back(1.0);
    encoder_.explain(event, [&](const nb::object& feature, std::int32_t j, double number) {
      features.append(feature);
      index.push_back(j);
      value.push_back(number);
    });
    std::vector<double> parts;
    {
      const nb::gil_scoped_release free_threads;
      parts = learner_.weights_at(index, smoothed_);
    }
    for (std::size_t at = 0; at < parts.size(); ++at) parts[at] *= value[at / lanes()];
    return nb::make_tuple(features, to_numpy(std::move(parts), {index.size(), lanes()}));
  }

  // The event as a dictionary of its own, of plain strings, floats and None.
  Fields plain(nb::handle event) const { return Fields(encoder_.plain(event)); }

  // Calls `look` while nothing is learned through here.
  nb::object while_still(const Look& look) {
    const Turn turn(writing_);
    return look();
  }

  EventList features() const {
    return nb::steal<EventList>(
        PyList_GetSlice(encoder_.features().ptr(), 0, static_cast<Py_ssize_t>(encoder_.known())));
  }

  void restore(const EventList& features) {
    const Turn turn(writing_);
    encoder_.restore(features);
  }

 private:
  // Names that came with a call that failed are forgotten again.
  class Names {
   public:
    explicit Names(Encoder& encoder) : encoder_(encoder), known_(encoder.known()) {}
    ~Names() { encoder_.settle(known_); }
    void keep(std::int64_t known) { known_ = known; }

   private:
    Encoder& encoder_;
    std::int64_t known_;
  };

  std::int64_t most_features(std::optional<int> bits) const {
    if (bits) return std::int64_t{1} << *bits;
    const std::int64_t fixed = learner_.config().fixed_features;
    return fixed ? fixed : std::numeric_limits<std::int32_t>::max() - 1;
  }

  // The rows hold the intercept already.
  Batch batch(const Rows& rows) const {
    Batch out;
    out.matrix = SparseMatrix<std::int32_t, double>{rows.start.data(), rows.index.data(), rows.value.data(),
                                                    static_cast<std::int64_t>(rows.index.size())};
    out.rows = rows.size();
    out.width = learner_.config().fixed_features ? learner_.config().fixed_features : encoder_.width();
    out.widens = widens_;
    return out;
  }

  void learn(const Events& events, double* margin, Names& names) {
    std::int64_t learned = events.batch.rows;
    if (events.batch.rows > 1 || !learner_.try_learn(events, {margin})) {
      const nb::gil_scoped_release free_threads;
      learned = learner_.learn(events, {margin}, signal_arrived);
    }
    names.keep(learned == events.batch.rows ? encoder_.size() : known_after(events.batch, learned));
    raise_if_interrupted();
  }

  // How many names there were when only these rows had come.
  std::int64_t known_after(const Batch& batch, std::int64_t rows) const {
    const auto& all = std::get<SparseMatrix<std::int32_t, double>>(batch.matrix);
    std::int64_t known = encoder_.known();
    for (std::int64_t k = 0; k < all.start[rows]; ++k)
      known = std::max<std::int64_t>(known, all.index[k] + 1 - (learner_.config().intercept ? 1 : 0));
    return known;
  }

  // So many events as there are labels.
  void encode_many(const nb::list& events, std::size_t count, bool grow, Rows& rows) {
    const auto event_at_fault = [&](const char* fault) {
      const std::string name = "event " + std::to_string(rows.size());
      return InputError("", EventPlace{static_cast<std::int64_t>(rows.size()), name},
                        std::string(" is at fault: ") + fault);
    };
    for (std::size_t i = 0; i < count; ++i) try {  // numbers of types of their own run Python code
        if (nb::len(events) != count) throw InputError("the list of events changed while it was read");
        encoder_.encode(nb::object(events[i]), grow, rows);
      } catch (const InputError& error) {
        throw event_at_fault(error.what());
      } catch (const nb::builtin_exception& error) {
        throw nb::type_error(event_at_fault(error.what()).what());
      }
  }

  // A list, a tuple, or an array of doubles; false for anything else.
  static bool read_many(nb::handle y, std::vector<double>& out) {
    if (PyList_CheckExact(y.ptr()) || PyTuple_CheckExact(y.ptr())) {
      for (std::size_t k = 0; k < nb::len(y); ++k) out.push_back(number_of(nb::object(y[k])));
      return true;
    }
    Py_buffer view;
    if (PyObject_GetBuffer(y.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
      PyErr_Clear();
      return false;
    }
    const bool doubles = view.ndim == 1 && view.format && std::strcmp(view.format, "d") == 0;
    if (doubles) {
      const auto* first = static_cast<const double*>(view.buf);
      out.assign(first, first + view.shape[0]);
    }
    PyBuffer_Release(&view);
    return doubles;
  }

  static double number_of(nb::handle y) {
    const double number = PyFloat_AsDouble(y.ptr());
    if (number == -1.0 && PyErr_Occurred()) throw nb::python_error();
    return number;
  }

  nb::object kept_;
  Learner& learner_;
  bool single_, smoothed_, widens_;
  Encoder encoder_;
  FairMutex writing_;     // held by whoever may add names, until the model has learned them too
  Rows learned_, spare_;  // memory for the next event
};

// The base of odca.EventLearner: its two methods that are called for every event are native ones, because a Python
// function around them would cost a fifth of what they do. What is out of the ordinary is left to Python.
class OneByOne {
 public:
  explicit OneByOne(nb::object core) : kept_(std::move(core)), core_(nb::cast<EventCore&>(kept_)) {}

  nb::object learn_one(nb::handle event, nb::handle y, double weight, double offset, nb::handle time) {
    double moment = std::nan("");
    if (PyFloat_CheckExact(time.ptr()))
      moment = PyFloat_AS_DOUBLE(time.ptr());
    else if (!time.is_none())
      moment = nb::cast<double>(nb::find(*this).attr("_moment")(time));
    EventCore::Labels labels;
    if (!core_.read_labels(y, labels) && !core_.read_labels(nb::find(*this).attr("_labels")(y), labels))
      throw InputError("y must be a number, or a row of them, one for each lane");
    return margins([&](double* margin) { core_.learn_one(event, labels, weight, offset, moment, margin); });
  }

  // With no more than that to be looked at, a call takes less time.
  nb::object learn_plain(nb::handle event, nb::handle y) { return learn_one(event, y, 1.0, 0.0, nb::none()); }
  nb::object predict_plain(nb::handle event) const {
    return margins([&](double* out) { core_.predict_one(event, 0.0, out); });
  }

  nb::object predict_one(nb::handle event, double offset, nb::handle id) {
    nb::object margin = margins([&](double* out) { core_.predict_one(event, offset, out); });
    if (!id.is_none()) nb::find(*this).attr("_keep")(id, event, offset);
    return margin;
  }

 private:
  // What fill(margin) puts there: a number, or an array of one for each lane.
  template <class Fill>
  nb::object margins(Fill fill) const {
    if (core_.single()) {
      double margin = 0.0;
      fill(&margin);
      return nb::steal(PyFloat_FromDouble(margin));
    }
    std::vector<double> margin(core_.lanes());
    fill(margin.data());
    return nb::cast(to_numpy(std::move(margin)));
  }

  nb::object kept_;
  EventCore& core_;
};

// What the faces of river do for every event. Each declines what it is not made for.

double margin_of(EventCore& core, nb::handle event) {
  double margin = 0.0;
  core.predict_one(event, 0.0, &margin);
  return margin;
}

nb::object learn_plainly(EventCore& core, nb::handle event, double y) {
  double margin = 0.0;
  core.learn_one(event, {y}, 1.0, 0.0, std::nan(""), &margin);
  return nb::none();
}

nb::object learn_truth(nb::handle self, PyObject* const* arguments, Py_ssize_t count) {
  EventCore& core = *nb::inst_ptr<EventCore>(self);
  if (count != 2 || !core.single() || !PyBool_Check(arguments[1])) return {};
  return learn_plainly(core, arguments[0], arguments[1] == Py_True ? 1.0 : -1.0);
}

nb::object predict_truth(nb::handle self, PyObject* const* arguments, Py_ssize_t count) {
  EventCore& core = *nb::inst_ptr<EventCore>(self);
  if (count != 1 || !core.single()) return {};
  return nb::bool_(margin_of(core, arguments[0]) > 0.0);
}

nb::object learn_number(nb::handle self, PyObject* const* arguments, Py_ssize_t count) {
  EventCore& core = *nb::inst_ptr<EventCore>(self);
  if (count != 2 || !core.single() || !PyFloat_CheckExact(arguments[1])) return {};
  return learn_plainly(core, arguments[0], PyFloat_AS_DOUBLE(arguments[1]));
}

nb::object predict_number(nb::handle self, PyObject* const* arguments, Py_ssize_t count) {
  EventCore& core = *nb::inst_ptr<EventCore>(self);
  if (count != 1 || !core.single()) return {};
  return nb::float_(margin_of(core, arguments[0]));
}

ShortCut short_cut_to(std::string_view name) {
  if (name == "learn_truth") return learn_truth;
  if (name == "predict_truth") return predict_truth;
  if (name == "learn_number") return learn_number;
  if (name == "predict_number") return predict_number;
  throw nb::value_error("there is no short cut of that name");
}

std::unique_ptr<EventCore> make(nb::object learner, bool single, bool smoothed, std::optional<int> bits,
                                const std::string& missing) {
  const Missing policy = missing == "indicate" ? Missing::indicate
                         : missing == "error"  ? Missing::error
                                               : Missing::ignore;
  if (!nb::isinstance<Learner>(learner)) throw nb::type_error("an EventCore needs a native Learner");
  return std::make_unique<EventCore>(std::move(learner), single, smoothed, bits, policy);
}

}  // namespace

void bind_events(nb::module_& m) {
  // What is None is refused with words of our own.
  const auto event = nb::arg("event").none(), x = nb::arg("x").none(), y = nb::arg("y").none();
  const auto events = nb::arg("events");
  nb::class_<EventCore>(m, "EventCore")
      .def(nb::new_(&make), nb::arg("learner"), nb::arg("single"), nb::arg("smoothed"), nb::arg("bits").none(),
           nb::arg("missing"))
      .def("learn_many", &EventCore::learn_many, events, y, nb::arg("weight").none(), nb::arg("offset").none(),
           nb::arg("time").none())
      .def("predict_many", &EventCore::predict_many, events, nb::arg("offset").none())
      .def("learn_lanes", &EventCore::learn_lanes, event, y, nb::arg("weight"), nb::arg("offset"), nb::arg("time"))
      .def("predict_lanes", &EventCore::predict_lanes, event, nb::arg("offset"))
      .def("explain", &EventCore::explain, event)
      .def("plain", &EventCore::plain, event)
      .def("while_still", &EventCore::while_still, nb::arg("look"))
      .def("restore", &EventCore::restore, nb::arg("features"))
      .def_prop_ro("features", &EventCore::features);
  nb::class_<OneByOne>(m, "OneByOne")
      .def(nb::init<nb::object>(), nb::arg("core"))
      .def("learn_one", &OneByOne::learn_one, x, y, nb::kw_only(), nb::arg("weight") = 1.0, nb::arg("offset") = 0.0,
           nb::arg("time") = nb::none(),
           nb::sig("def learn_one(self, x: collections.abc.Mapping[typing.Any, typing.Any], y: object, *, "
                   "weight: float = 1.0, offset: float = 0.0, time: object = None) -> typing.Any"),
           "Learn from one event; return its margin from before. With lanes, y is a number for all or one for each.")
      .def("learn_plain", &OneByOne::learn_plain, x, y, "`learn_one` of weight 1, without offset or time.")
      .def("predict_plain", &OneByOne::predict_plain, x, "`predict_one` without offset or id.")
      .def("predict_one", &OneByOne::predict_one, x, nb::kw_only(), nb::arg("offset") = 0.0, nb::arg("id") = nb::none(),
           nb::sig("def predict_one(self, x: collections.abc.Mapping[typing.Any, typing.Any], *, "
                   "offset: float = 0.0, id: str | int | None = None) -> typing.Any"),
           "The margin of one event: a number, or one for each lane. Neither the model nor the names change.\n\n"
           "With `id`, the event and its offset are kept until `learn_label(id, y)`. If an event of that id is kept\n"
           "already, the new one takes its place, as the newest.");
  m.def(
      "with_short_cut",
      [type = shortened_method_type()](std::string_view name, nb::callable method) -> nb::object {
        return with_short_cut(type, nb::borrow(nb::type<EventCore>()), short_cut_to(name), std::move(method));
      },
      nb::arg("name"), nb::arg("method"),
      nb::sig("def with_short_cut(name: str, method: collections.abc.Callable[..., typing.Any]) -> typing.Any"),
      "The method, with a native short cut for objects of one lane whose `_short` is an EventCore.");
}

}  // namespace odca::bind
