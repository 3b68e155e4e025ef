// What the bindings of event models share: dictionaries are read, names are looked at and restored, and whoever learns has the turn.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>

#include "bind/arrays.hpp"
#include "bind/dictionary.hpp"
#include "bind/signals.hpp"
#include "bind/state.hpp"
#include "bind/turn.hpp"
#include "odca/models/event_model.hpp"

namespace odca::bind {

using Look = nb::typed<nb::callable, nb::object()>;

class EventReading {
 public:
  EventReading(const text::FeatureOptions& options, bool intercept, std::int64_t fixed_features)
      : model_(options, intercept, fixed_features) {}

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

 protected:
  struct Reading {
    text::EventReader reader;
    DictionaryVisitor visitor;

    explicit Reading(const text::EventSpace& space) : reader(space), visitor(reader.builder()) {}

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
  void learn_events(Read&& read, Learn&& learn) {
    const Turn turn(model_.turn());
    begin(learning_);
    try {
      read(*learning_);
      model_.learn(learning_->reader, learn);
      raise_if_interrupted();
    } catch (...) {  // the last row may not be complete, and names may have been taken back
      learning_.reset();
      throw;
    }
  }

  // Calls use(rows, batch) with the events that read(reading) reads. Several threads may be here at once: each has a reading of its own.
  template <class Read, class Use>
  void with_known(Read&& read, Use&& use) {
    std::unique_ptr<Reading> reading = std::move(spare_);
    begin(reading);
    reading->visitor.remember_below(model_.space().width());
    read(*reading);
    use(reading->reader);
    spare_ = std::move(reading);
  }

  EventModel model_;

 private:
  // A reading keeps some fields; so that a stream of ever new names does not fill the memory, it begins anew from time to time.
  static constexpr std::size_t most_fields = 4096;

  void begin(std::unique_ptr<Reading>& reading) {
    if (!reading || reading->reader.builder().named_fields() > most_fields)
      reading = std::make_unique<Reading>(model_.space());
    reading->reader.begin_call();
  }

  std::unique_ptr<Reading> learning_, spare_;
};

}  // namespace odca::bind
