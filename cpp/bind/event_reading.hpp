// What the bindings of event models share: dictionaries are read, names are looked at and restored, and whoever learns has the turn.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/date_spans.hpp"
#include "bind/dictionary.hpp"
#include "bind/history.hpp"
#include "bind/signals.hpp"
#include "bind/state.hpp"
#include "bind/turn.hpp"
#include "odca/models/event_model.hpp"

namespace odca::bind {

using Look = nb::typed<nb::callable, nb::object()>;
using Explanation = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

// The numbers of one event: a few of them need no allocation.
class FewNumbers {
 public:
  FewNumbers& operator=(const std::vector<double>& numbers) {
    std::copy(numbers.begin(), numbers.end(), resize(numbers.size()));
    return *this;
  }
  double* resize(std::size_t size) {
    size_ = size;
    if (size > few) many_.resize(size);
    return data();
  }
  std::size_t size() const { return size_; }
  double* data() { return size_ > few ? many_.data() : few_; }
  const double* data() const { return size_ > few ? many_.data() : few_; }

 private:
  static constexpr std::size_t few = 8;
  std::size_t size_ = 0;
  double few_[few];
  std::vector<double> many_;
};

class EventReading {
 public:
  EventReading(const text::FeatureOptions& options, bool intercept, std::int64_t fixed_features)
      : model_(options, intercept, fixed_features) {}
  virtual ~EventReading() = default;

  // What fast_models.cpp needs: a single event, of weight 1, without offset and time. Labels are one for each lane, or what the experts
  // take; the prediction, from before the event is learned, the margins of the lanes, or what the experts say.
  virtual void predict_event(nb::handle event, FewNumbers& said) = 0;
  virtual void learn_event(nb::handle event, const FewNumbers& labels, FewNumbers& said) = 0;

  // Calls `look` while nothing is learned through here.
  nb::object while_still(const Look& look) {
    const Turn turn(model_.turn());
    return look();
  }

  // The names one after the other, and where each ends. Both at one moment: another thread may add names.
  std::pair<nb::bytes, nb::ndarray<nb::numpy, std::int64_t>> names() const {
    const text::NameTable& names = model_.space().names();
    const auto& ends = names.ends();
    return {nb::bytes(names.bytes().data(), names.bytes().size()),
            to_numpy(std::vector<std::int64_t>(ends.begin(), ends.end()))};
  }
  void restore(const nb::bytes& bytes, const Vector<std::int64_t>& ends) {
    const Turn turn(model_.turn());
    model_.space().restore({bytes.c_str(), bytes.size()}, to_vector(ends));
    learning_.reset();
    spare_.reset();
  }

  // The event as a dictionary of its own, of plain values.
  Fields plain(nb::handle event) const { return Fields(DictionaryVisitor::plain(event, model_.space().options())); }

  // The values of the history of an event as it is now, NaN for those that are missing.
  nb::ndarray<nb::numpy, double> history_values(nb::handle event, double time) {
    text::Block block;
    text::Builder builder(model_.space().options(), block, model_.space().options().nested);
    DictionaryVisitor(builder).read(event);
    builder.finish_row({});
    return to_numpy(model_.history()->values(block, {.time = std::isnan(time) ? nullptr : &time}));
  }
  // What the features of further events depend on: the history, and the days of the dates that were learned.
  Arrays past() const {
    Arrays out = model_.history() ? history_arrays(model_.history()->saved()) : Arrays();
    add_date_arrays(model_.space().options().date_spans, out);
    return out;
  }
  void restore_past(const Arrays& arrays) {
    const Turn turn(model_.turn());
    text::EventSpace& space = model_.space();
    text::DateSpans dates = spans_from(arrays);
    if (!model_.history() && nb::len(nb::handle(arrays)) > (dates.empty() ? 0 : std::size(date_arrays)))
      throw InputError("it has the state of a history, but no option that makes one");
    if (model_.history()) model_.history()->restore(history_from(arrays), space.width() - space.first_index());
    space.restore_dates(std::move(dates));
  }
  bool has_history() const { return model_.history() != nullptr; }

  void require_given(const std::optional<Vector<double>>& given, std::size_t rows) const {
    if (given && (!model_.history() || rows != 1 || given->shape(0) != model_.history()->size()))
      throw InputError("the history of a waiting event does not have the features of the model's");
  }

 protected:
  static void require_times(const std::optional<Vector<double>>& time, std::size_t rows) {
    if (time && time->shape(0) != rows)
      throw InputError("there must be a time for each of " + std::to_string(rows) + " events; got " +
                       std::to_string(time->shape(0)));
  }
  text::KeyedFeatures keyed_features(nb::handle event, double time) const {
    return keyed_features(event, model_.history(), time);
  }
  text::KeyedFeatures keyed_features(nb::handle event, text::History* history, double time) const {
    return text::keyed_features(model_.space(), history, time,
                                [&](text::Builder& builder) { DictionaryVisitor(builder).read(event); });
  }

  struct Reading {
    SparseRows extended;  // the rows of the reader with their history, where there is one
    text::EventReader reader;
    DictionaryVisitor visitor;

    Reading(const text::EventSpace& space, bool predicts) : reader(space, predicts), visitor(reader.builder()) {}

    void learned(nb::handle event) {
      reader.begin_event();
      visitor.read(event);
      finish([&] { reader.finish_event(); });
    }
    void known(nb::handle event) {
      reader.begin_event();
      visitor.read(event);
      finish([&] { reader.finish_known_event(); });
    }

   private:
    template <class Finish>
    void finish(Finish&& finish) try {
      finish();
    } catch (const text::Fault& fault) {
      throw InputError(in_words(fault));
    }
  };

  // Learns the events that read(reading) reads, by learn(batch).
  template <class Read, class Learn>
  void learn_events(const text::KnownOfEvents& known, Read&& read, Learn&& learn) {
    const Turn turn(model_.turn());
    begin(learning_, false);
    try {
      read(*learning_);
      model_.learn(learning_->reader, known, learn);
      raise_if_interrupted();
    } catch (...) {  // the last row may not be complete, and names may have been taken back
      learning_.reset();
      throw;
    }
  }

  // Calls use(reader, rows) with the events that read(reading) reads. Several threads may be here at once: each has a reading of its own.
  template <class Read, class Use>
  void with_known(const double* time, Read&& read, Use&& use) {
    std::unique_ptr<Reading> reading = std::move(spare_);
    begin(reading, true);
    reading->visitor.remember_below(model_.space().width());
    read(*reading);
    if (model_.history()) model_.history()->extend_for_now(reading->reader.block(), {.time = time}, reading->extended);
    use(reading->reader, model_.history() ? reading->extended : reading->reader.rows());
    spare_ = std::move(reading);
  }

  // Calls predict(batch) with a list of events, while other Python threads run.
  template <class Predict>
  void predict_list(const EventList& events, std::size_t rows, const std::optional<Vector<double>>& time,
                    Predict&& predict) {
    require_times(time, rows);
    with_known(
        time ? time->data() : nullptr,
        [&](Reading& reading) { read_many(events, rows, [&](nb::handle event) { reading.known(event); }); },
        [&](const text::EventReader& reader, const SparseRows& all_rows) {
          const Batch all = model_.batch(reader, all_rows);
          {
            const nb::gil_scoped_release free_threads;
            predict(all);
          }
          raise_if_interrupted();
        });
  }

  EventModel model_;

 private:
  // A reading keeps some fields; so that a stream of ever new names does not fill the memory, it begins anew from time to time.
  static constexpr std::size_t most_fields = 4096;

  void begin(std::unique_ptr<Reading>& reading, bool predicts) {
    if (!reading || reading->reader.builder().named_fields() > most_fields)
      reading = std::make_unique<Reading>(model_.space(), predicts);
    reading->reader.begin_call();
  }

  std::unique_ptr<Reading> learning_, spare_;
};

// What every event model has in Python.
inline void bind_reading(nb::module_& m) {
  nb::class_<EventReading>(m, "EventReading")
      .def("plain", &EventReading::plain, nb::arg("event").none())
      .def("while_still", &EventReading::while_still, nb::arg("look"))
      .def("names", &EventReading::names)
      .def("restore", &EventReading::restore, nb::arg("bytes"), nb::arg("ends"))
      .def_prop_ro("has_history", &EventReading::has_history)
      .def("require_given", &EventReading::require_given, nb::arg("given").none(), nb::arg("rows"))
      .def("history_values", &EventReading::history_values, nb::arg("event"), nb::arg("time"))
      .def("past", &EventReading::past)
      .def("restore_past", &EventReading::restore_past, nb::arg("arrays"));
}

}  // namespace odca::bind
