// The texts of the events of a block whose features depend on the events before, and so become part of the rows only when these are known.
#pragma once

#include <cstdint>
#include <vector>

namespace odca::text {

// Of each event its texts, and of each text its features in the order in which they first appear, which no index changes.
class Texts {
 public:
  static constexpr std::int32_t unknown = -1;  // the index of a feature that has no name among those that are known

  struct Feature {
    std::int32_t index;
    double value;
  };

  // A feature of the text at hand; the end of that text; the end of its event.
  void add(std::int32_t index, double value) { features_.push_back({index, value}); }
  void finish_text() { text_end_.push_back(features_.size()); }
  void finish_event() { event_end_.push_back(text_end_.size()); }
  // What was added since the last event is not there.
  void forget() { cut(events()); }
  void clear() { cut(0); }

  std::size_t events() const { return event_end_.size(); }
  std::size_t features() const { return features_.size(); }
  std::size_t texts_of(std::size_t event) const { return end_of(event_end_, event) - end_of(event_end_, event, 1); }

  // Calls visit(first, last) with the features of each text of an event.
  template <class Visit>
  void each_text(std::size_t event, Visit&& visit) const {
    for (std::size_t text = end_of(event_end_, event, 1); text < event_end_[event]; ++text)
      visit(features_.data() + end_of(text_end_, text, 1), features_.data() + text_end_[text]);
  }
  // The index of each feature of the events from `first` on becomes place(index).
  template <class Place>
  void renumber(std::size_t first, Place&& place) {
    for (std::size_t k = features_before(first); k < features_.size(); ++k)
      features_[k].index = place(features_[k].index);
  }

  void append(const Texts& other, std::size_t event) {
    other.each_text(event, [&](const Feature* first, const Feature* last) {
      features_.insert(features_.end(), first, last);
      finish_text();
    });
    finish_event();
  }

 private:
  // The end of what is `back` before this one.
  static std::size_t end_of(const std::vector<std::size_t>& ends, std::size_t at, std::size_t back = 0) {
    return at < back ? 0 : ends[at - back];
  }
  std::size_t features_before(std::size_t event) const {
    const std::size_t texts = end_of(event_end_, event, 1);
    return end_of(text_end_, texts, 1);
  }
  void cut(std::size_t events) {
    const std::size_t texts = end_of(event_end_, events, 1);
    event_end_.resize(events), text_end_.resize(texts), features_.resize(end_of(text_end_, texts, 1));
  }

  std::vector<std::size_t> event_end_, text_end_;
  std::vector<Feature> features_;
};

}  // namespace odca::text
