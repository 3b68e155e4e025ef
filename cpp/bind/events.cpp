// A learner of events: names and model change together, or not at all.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "bind/arrays.hpp"
#include "bind/event_reading.hpp"
#include "bind/signals.hpp"
#include "bind/topics.hpp"
#include "odca/learner/learner.hpp"
#include "odca/math/checks.hpp"
#include "odca/uncertainty/error_tracker.hpp"

namespace odca::bind {

namespace {

using Floats = nb::typed<nb::list, double>;

// One event is learned or predicted while the GIL is held, if nobody else is at the model: that is faster than to let go
// of the GIL. Nobody ever waits for a mutex with the GIL in his hands.
class EventCore : public EventReading {
 public:
  EventCore(nb::object learner, bool single, bool smoothed, const text::FeatureOptions& options)
      : EventReading(options, nb::inst_ptr<Learner>(learner)->config().intercept,
                     nb::inst_ptr<Learner>(learner)->config().fixed_features),
        kept_(std::move(learner)),
        learner_(*nb::inst_ptr<Learner>(kept_)),
        single_(single),
        smoothed_(smoothed) {}

  bool single() const { return single_; }
  std::size_t lanes() const { return static_cast<std::size_t>(learner_.config().models()); }

  // Labels of one event: a number for all lanes, or one for each.
  struct Labels {
    double one = 0.0;
    std::vector<double> many = {};
    LaneValues lane_values() const {
      return many.empty() ? LaneValues{&one, 0, 0, 0.0} : LaneValues{many.data(), 0, 1, 0.0};
    }
  };

  // False if y must be turned into an array of doubles first.
  bool read_labels(nb::handle y, Labels& out) const {
    if (single_ || PyFloat_Check(y.ptr()) || PyLong_Check(y.ptr())) {
      out.one = number_of(y);
      return true;
    }
    if (!read_row(y, out.many)) return false;
    if (out.many.size() == lanes()) return true;
    throw InputError("y must be a number, or have one for each of " + std::to_string(lanes()) + " lanes; it has " +
                     std::to_string(out.many.size()));
  }

  // `said` is the margin that was predicted for the event, if that is longer ago, and `given` the values of its history from then.
  void learn_one(nb::handle event, const Labels& labels, double weight, double offset, double time, double* margin,
                 const double* said = nullptr, const double* given = nullptr) {
    require_one_label();
    if (std::isnan(time) && learner_.config().window.uses_time())
      throw InputError("the window counts in event time; give the time of every event");
    learn_events(
        {labels.many.empty() ? &labels.one : nullptr, std::isnan(time) ? nullptr : &time, given},
        [&](Reading& reading) { reading.learned(event); },
        [&](const Batch& batch) __attribute__((always_inline)) {
          return learn({batch, labels.lane_values(), {nullptr, 0, 0, weight}, {nullptr, 0, 0, offset}, &time}, margin);
        });
    if (observer_) observer_->add(score_of(labels.one, said ? *said : *margin), weight);
  }

  void predict_event(nb::handle event, FewNumbers& said) override { predict_one(event, 0.0, said.resize(lanes())); }
  void learn_event(nb::handle event, const FewNumbers& labels, FewNumbers& said) override {
    const Labels of_lanes =
        single_ ? Labels{labels.data()[0]} : Labels{0.0, {labels.data(), labels.data() + labels.size()}};
    learn_one(event, of_lanes, 1.0, 0.0, std::nan(""), said.resize(lanes()));
  }

  // From now on `uncertainty` takes the score of every event that is learned by itself, of a model of one lane.
  void observe(nb::object uncertainty, const std::string& labels) {
    observed_ = labels == "truths" ? Observed::truths : labels == "counts" ? Observed::counts : Observed::numbers;
    observer_ = &nb::cast<uncertainty::Uncertainty&>(uncertainty);
    kept_observer_ = std::move(uncertainty);
  }

  void predict_one(nb::handle event, double offset, double* margin, double time = std::nan("")) {
    with_known(
        std::isnan(time) ? nullptr : &time, [&](Reading& reading) { reading.known(event); },
        [&](const text::EventReader& reader, const SparseRows& rows) {
          if (learner_.try_predict(rows.first(), offset, smoothed_, margin)) return;
          const Batch one = model_.batch(reader, rows);
          {
            const nb::gil_scoped_release free_threads;
            learner_.predict(one, {nullptr, 0, 0, offset}, smoothed_, margin, signal_arrived);
          }
          raise_if_interrupted();
        });
  }

  nb::ndarray<nb::numpy, double> learn_many(const EventList& events, const Matrix2& y,
                                            const std::optional<Matrix2>& weight, const std::optional<Matrix2>& offset,
                                            const std::optional<Vector<double>>& time) {
    const std::size_t rows = y.shape(0);
    std::vector<double> out(rows * lanes());
    require_one_label();
    if (rows > 0)  // no event brings no features, hashed ones neither
      learn_events(
          {y.data(), time ? time->data() : nullptr},
          [&](Reading& reading) { read_many(events, rows, [&](nb::handle event) { reading.learned(event); }); },
          [&](const Batch& batch) {
            return learn({batch, lane_values(y, 0.0), lane_values(weight, 1.0), lane_values(offset, 0.0),
                          time ? time->data() : nullptr},
                         out.data());
          });
    return to_numpy(std::move(out), {rows, lanes()});
  }

  nb::ndarray<nb::numpy, double> predict_many(const EventList& events, const std::optional<Matrix2>& offset,
                                              const std::optional<Vector<double>>& time) {
    const std::size_t rows = offset ? offset->shape(0) : nb::len(nb::handle(events));
    std::vector<double> out(rows * lanes());
    predict_list(events, rows, time, [&](const Batch& all) {
      learner_.predict(all, lane_values(offset, 0.0), smoothed_, out.data(), signal_arrived);
    });
    return to_numpy(std::move(out), {rows, lanes()});
  }

  // The values of the event's features, known or not, without its history.
  Floats feature_values(nb::handle event) const {
    Floats out;
    for (const double value : keyed_features(event, nullptr, std::nan("")).value) out.append(value);
    return out;
  }

  // The keys of the event's features and what each adds to the margin, [feature][lane]; the intercept, whose key is empty, first. And
  // what each product of two features adds, [product][lane].
  Explanation explain(nb::handle event, double time) {
    const text::EventSpace& space = model_.space();
    const text::KeyedFeatures found = keyed_features(event, time);
    nb::list keys;
    std::vector<std::int32_t> index;
    std::vector<double> value;
    if (space.has_intercept()) keys.append(nb::bytes("", 0)), index.push_back(0), value.push_back(1.0);
    for (std::int32_t k = 0; k < found.keys.size(); ++k) {
      keys.append(nb::bytes(found.keys[k].data(), found.keys[k].size()));
      index.push_back(space.index_of(found.keys[k]));
      value.push_back(found.value[static_cast<std::size_t>(k)]);
    }
    std::vector<double> parts;
    {
      const nb::gil_scoped_release free_threads;
      parts = learner_.weights_at(index, smoothed_);
    }
    for (std::size_t at = 0; at < parts.size(); ++at) parts[at] *= value[at / lanes()];
    if (!all_finite(parts)) throw InputError("the prediction for the event is not finite; look for huge values in it");
    std::vector<double> of_products = learner_.parts_of_products(Known(index, value).row());
    const std::size_t products = of_products.size() / lanes();
    return nb::make_tuple(keys, to_numpy(std::move(parts), {index.size(), lanes()}),
                          to_numpy(std::move(of_products), {products, lanes()}));
  }

 private:
  // Features that have an index, as a row: in order, those of one index added.
  struct Known {
    std::vector<std::int32_t> index;
    std::vector<double> value;

    Known(const std::vector<std::int32_t>& indices, const std::vector<double>& values) {
      std::map<std::int32_t, double> sums;
      for (std::size_t k = 0; k < indices.size(); ++k)
        if (indices[k] >= 0) sums[indices[k]] += values[k];
      for (const auto& [j, x] : sums) index.push_back(j), value.push_back(x);
    }
    Row row() const { return {index.data(), value.data(), static_cast<std::int64_t>(index.size())}; }
  };

  void require_one_label() const {
    if (model_.history() && model_.history()->has_label() && lanes() > 1)
      throw InputError("the history of the label needs one label for each event, not one for each of " +
                       std::to_string(lanes()) + " lanes. Leave it out of history");
  }

  // How many events were learned.
  std::int64_t learn(const Events& events, double* margin) {
    if (events.batch.rows == 1 && learner_.try_learn(events, {margin})) return 1;
    const nb::gil_scoped_release free_threads;
    return learner_.learn(events, {margin}, signal_arrived);
  }

  // A list, a tuple, or an array of doubles; false for anything else.
  static bool read_row(nb::handle y, std::vector<double>& out) {
    if (PyList_CheckExact(y.ptr()) || PyTuple_CheckExact(y.ptr())) {
      const std::size_t size = nb::len(y);
      for (std::size_t k = 0; k < size; ++k) {  // numbers of types of their own run Python code
        if (nb::len(y) != size) throw InputError("y changed while it was read");
        out.push_back(number_of(nb::object(y[k])));
      }
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
    if (number != -1.0 || !PyErr_Occurred()) return number;
    const bool is_too_large = PyErr_ExceptionMatches(PyExc_OverflowError);
    if (!is_too_large && !PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    if (is_too_large) throw InputError("y is too large for a float. Scale it");
    throw nb::type_error(
        ("a label must be a number; got " + nb::cast<std::string>(nb::repr(y)) +
         ". Make a number of it, such as -1 and 1 of two classes, or use odca.river.ODCAClassifier, which "
         "takes any labels")
            .c_str());
  }

  enum class Observed { numbers, counts, truths };
  double score_of(double y, double margin) const {
    if (observed_ == Observed::truths) return uncertainty::score_of_class(y * margin);
    return y - (observed_ == Observed::counts ? exp(margin) : margin);
  }

  nb::object kept_;
  Learner& learner_;
  bool single_, smoothed_;
  nb::object kept_observer_;
  uncertainty::Uncertainty* observer_ = nullptr;
  Observed observed_ = Observed::numbers;
};

// The base of odca.EventLearner: its two methods that are called for every event are native ones, because a Python
// function around them would cost a fifth of what they do. What is out of the ordinary is left to Python.
class OneByOne {
 public:
  explicit OneByOne(nb::object core) : kept_(std::move(core)), core_(nb::cast<EventCore&>(kept_)) {}

  nb::object learn_one(nb::handle event, nb::handle y, double weight, double offset, nb::handle time) {
    return learn_late(event, y, weight, offset, time, std::nullopt, std::nullopt);
  }

  nb::object learn_late(nb::handle event, nb::handle y, double weight, double offset, nb::handle time,
                        std::optional<double> said, const std::optional<Vector<double>>& given) {
    core_.require_given(given, 1);
    const double moment = moment_of(time);
    EventCore::Labels labels;
    if (!core_.read_labels(y, labels) && !core_.read_labels(nb::find(*this).attr("_labels")(y), labels))
      throw InputError("y must be a number, or a row of them, one for each lane");
    return margins([&](double* margin) {
      core_.learn_one(event, labels, weight, offset, moment, margin, said ? &*said : nullptr,
                      given ? given->data() : nullptr);
    });
  }

  // With no more than that to be looked at, a call takes less time.
  nb::object learn_plain(nb::handle event, nb::handle y) { return learn_one(event, y, 1.0, 0.0, nb::none()); }
  nb::object predict_plain(nb::handle event) const {
    return margins([&](double* out) { core_.predict_one(event, 0.0, out); });
  }

  nb::object predict_one(nb::handle event, double offset, nb::handle id, nb::handle time) {
    const double moment = moment_of(time);
    nb::object margin = margins([&](double* out) { core_.predict_one(event, offset, out, moment); });
    if (!id.is_none()) nb::find(*this).attr("_keep")(id, event, offset, margin, moment);
    return margin;
  }

 private:
  // NaN if there is none.
  double moment_of(nb::handle time) const {
    if (PyFloat_CheckExact(time.ptr())) return PyFloat_AS_DOUBLE(time.ptr());
    return time.is_none() ? std::nan("") : nb::cast<double>(nb::find(*this).attr("_moment")(time));
  }

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

std::unique_ptr<EventCore> make(nb::object learner, bool single, bool smoothed, const text::FeatureOptions& features) {
  if (!nb::isinstance<Learner>(learner)) throw nb::type_error("an EventCore needs a native Learner");
  return std::make_unique<EventCore>(std::move(learner), single, smoothed, features);
}

}  // namespace

void bind_events(nb::module_& m) {
  // What is None is refused with words of our own.
  const auto event = nb::arg("event").none(), x = nb::arg("x").none(), y = nb::arg("y").none();
  const auto events = nb::arg("events");
  const double none = std::nan("");
  bind_reading(m);
  nb::class_<EventCore, EventReading> core(m, "EventCore");
  core.def(nb::new_(&make), nb::arg("learner"), nb::arg("single"), nb::arg("smoothed"), nb::arg("features"))
      .def("learn_many", &EventCore::learn_many, events, y, nb::arg("weight").none(), nb::arg("offset").none(),
           nb::arg("time").none())
      .def("predict_many", &EventCore::predict_many, events, nb::arg("offset").none(),
           nb::arg("time").none() = nb::none())
      .def("feature_values", &EventCore::feature_values, event)
      .def("observe", &EventCore::observe, nb::arg("uncertainty"), nb::arg("labels"))
      .def("explain", &EventCore::explain, event, nb::arg("time") = none);
  nb::class_<OneByOne>(m, "OneByOne")
      .def(nb::init<nb::object>(), nb::arg("core"))
      .def("learn_one", &OneByOne::learn_one, x, y, nb::kw_only(), nb::arg("weight") = 1.0, nb::arg("offset") = 0.0,
           nb::arg("time") = nb::none(),
           nb::sig("def learn_one(self, x: collections.abc.Mapping[typing.Any, typing.Any], y: object, *, "
                   "weight: float = 1.0, offset: float = 0.0, time: object = None) -> typing.Any"),
           "Learn from one event; return its margin from before. With lanes, y is a number for all or one for each.")
      .def("learn_late", &OneByOne::learn_late, x, y, nb::arg("weight"), nb::arg("offset"), nb::arg("time").none(),
           nb::arg("said").none(), nb::arg("given").none(),
           "`learn_one` of an event whose margin was predicted earlier: `said`, which intervals are judged by, and "
           "`given`, the\n"
           "values of its history from then.")
      .def("learn_plain", &OneByOne::learn_plain, x, y, "`learn_one` of weight 1, without offset or time.")
      .def("predict_plain", &OneByOne::predict_plain, x, "`predict_one` without offset or id.")
      .def("predict_one", &OneByOne::predict_one, x, nb::kw_only(), nb::arg("offset") = 0.0, nb::arg("id") = nb::none(),
           nb::arg("time") = nb::none(),
           nb::sig("def predict_one(self, x: collections.abc.Mapping[typing.Any, typing.Any], *, "
                   "offset: float = 0.0, id: str | int | None = None, time: object = None) -> typing.Any"),
           "The margin of one event: a number, or one for each lane. Neither the model nor the names change.\n\n"
           "With `id`, the event and its offset are kept until `learn_label(id, y)`. If an event of that id is kept\n"
           "already, the new one takes its place, as the newest. The time matters only to `history` over spans of "
           "time.");
}

}  // namespace odca::bind
