#include "odca/features/document_counts.hpp"

#include <algorithm>
#include <cmath>

#include "odca/errors.hpp"
#include "odca/math/functions.hpp"

namespace odca::text {

std::int64_t DocumentCounts::count_of(std::int32_t index) const {
  const std::int64_t feature = std::int64_t{index} - first_;
  return index == Texts::unknown || feature >= static_cast<std::int64_t>(count_.size())
             ? 0
             : count_[static_cast<std::size_t>(feature)];
}

void DocumentCounts::weigh(const Texts::Feature* first, const Texts::Feature* last, std::vector<double>& out) const {
  const double events = 1.0 + static_cast<double>(events_);
  double squares = 0.0;
  out.clear();
  for (const Texts::Feature* each = first; each != last; ++each) {
    const double with_it = 1.0 + static_cast<double>(count_of(each->index));
    const double value = each->value * (odca::log(events / with_it) + 1.0);
    squares += value * value;
    out.push_back(value);
  }
  if (!options_.unit_norm) return;
  const double norm = std::sqrt(squares);
  for (double& value : out) value /= norm;
}

void DocumentCounts::add_features(const Texts& texts, std::size_t event, SparseRows& row) {
  texts.each_text(event, [&](const Texts::Feature* first, const Texts::Feature* last) {
    weigh(first, last, values_);
    for (std::size_t k = 0; k < values_.size(); ++k)
      if (first[k].index != Texts::unknown) row.add(first[k].index, values_[k]);
  });
}

void DocumentCounts::count(const Texts& texts, std::size_t event) {
  const auto begin = static_cast<std::ptrdiff_t>(features_.size());
  texts.each_text(event, [&](const Texts::Feature* first, const Texts::Feature* last) {
    for (; first != last; ++first)
      if (first->index != Texts::unknown) features_.push_back(first->index - first_);
  });
  if (texts.texts_of(event) > 1) {  // a feature that is in several texts of an event is in one event
    std::sort(features_.begin() + begin, features_.end());
    features_.erase(std::unique(features_.begin() + begin, features_.end()), features_.end());
  }
  for (auto each = features_.begin() + begin; each != features_.end(); ++each) {
    const auto feature = static_cast<std::size_t>(*each);
    if (feature >= count_.size()) count_.resize(feature + 1);
    ++count_[feature];
  }
  ++events_;
  event_end_.push_back(features_.size());
}

void DocumentCounts::keep_first(std::int64_t events) {
  const auto kept = std::min(static_cast<std::size_t>(events), event_end_.size());
  events_ -= static_cast<std::int64_t>(event_end_.size() - kept);
  for (std::size_t k = kept ? event_end_[kept - 1] : 0; k < features_.size(); ++k)
    --count_[static_cast<std::size_t>(features_[k])];
  features_.clear(), event_end_.clear();
}

DocumentCounts::Saved DocumentCounts::saved() const {
  Saved out;
  out.events = events_;
  for (std::size_t feature = 0; feature < count_.size(); ++feature)
    if (count_[feature] > 0)
      out.feature.push_back(static_cast<std::int32_t>(feature)), out.count.push_back(count_[feature]);
  return out;
}

void DocumentCounts::restore(const Saved& saved, std::int64_t features) {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  bool sound = saved.events >= 0 && saved.events < most && saved.feature.size() == saved.count.size();
  for (std::size_t k = 0; sound && k < saved.feature.size(); ++k)
    sound = saved.feature[k] > (k ? saved.feature[k - 1] : -1) && saved.feature[k] < features && saved.count[k] > 0 &&
            saved.count[k] <= saved.events;
  if (!sound) throw InputError("its counts of the events that have a word are not possible");
  std::vector<std::int64_t> count(saved.feature.empty() ? 0 : static_cast<std::size_t>(saved.feature.back()) + 1);
  for (std::size_t k = 0; k < saved.feature.size(); ++k)
    count[static_cast<std::size_t>(saved.feature[k])] = saved.count[k];
  events_ = saved.events;
  count_ = std::move(count);
  features_.clear(), event_end_.clear();
}

}  // namespace odca::text
