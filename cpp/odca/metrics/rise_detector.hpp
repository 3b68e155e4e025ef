// Notices that the mean of a stream of losses has risen, in constant memory and time per event. docs/drift.md derives it.
//
// Since the last alarm (or the beginning), events n = 0, 1, 2, ... fill windows [0, 64), [64, 128), [128, 256), ... The last complete
// window is the reference. Losses x in [0, 1] are min(loss, cap) / cap, where the cap is 8 times the mean loss of the window before the
// reference. U is 1.1 times an upper bound of the reference's mean (empirical Bernstein). Then, for a few bets b,
//
//     W <- (W + prior(n)) (1 + b (x/U - 1))
//
// are e-processes against "the mean never exceeds U", summed over all events at which a rise may begin. If their mean reaches 2/α, it is
// an alarm. A stream whose conditional mean never rises by more than a tenth has none, with probability 1 - α at least.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "odca/errors.hpp"
#include "odca/math/functions.hpp"

namespace odca {

class RiseDetector {
 public:
  static constexpr double usual_alpha = 0.01;   // the largest probability of a false alarm
  static constexpr double tolerated = 1.1;      // a smaller rise is none
  static constexpr double usual_cap = 8.0;      // the cap, in means of the window before
  static constexpr std::int64_t first = 64;     // events of the first window
  static constexpr int octaves = 40;            // that share the prior of when a rise begins
  static constexpr std::size_t most_kept = 64;  // of the alarms: the latest
  static constexpr std::array bets{0.9, 0.5, 0.15, 0.04};

  struct Alarm {
    std::int64_t event;    // when it was noticed
    std::int64_t since;    // the event at which the rise probably began
    double before, after;  // mean losses: of the reference, and since then; huge ones are trimmed
  };

  // Means of several events vary less than losses, so that they need a smaller cap.
  explicit RiseDetector(double alpha = usual_alpha, double cap_in_means = usual_cap)
      : alpha_(alpha), cap_in_means_(cap_in_means) {
    if (!(alpha > 0.0 && alpha < 1.0)) throw InputError("the rate of false alarms must lie between 0 and 1");
    if (!(cap_in_means > 1.0 && cap_in_means < 1e6)) throw InputError("the cap must be larger than the mean");
  }

  // The next event. One of weight zero, or without a loss (nan), is counted but not looked at.
  void add(double loss, double weight) {
    ++events_;
    if (!(weight > 0.0) || std::isnan(loss)) return;
    loss = std::min(std::max(loss, 0.0), huge);
    if (seen_ >= 2 * first && judge(loss)) return begin_again();
    window_.add(loss);
    if (++seen_ >= first && std::has_single_bit(static_cast<std::uint64_t>(seen_))) next_window();
  }

  std::int64_t events() const { return events_; }
  std::int64_t count() const { return count_; }                 // of all alarms
  const std::vector<Alarm>& alarms() const { return alarms_; }  // the latest

  // After another stream's events, of which these were its alarms: the numbers of events go on, and all else begins again.
  void append(const RiseDetector& other) {
    for (const Alarm& each : other.alarms_) keep({each.event + events_, each.since + events_, each.before, each.after});
    count_ += other.count_ - static_cast<std::int64_t>(other.alarms_.size());
    events_ += other.events_;
    begin_again();
  }

  // So many events, of which nothing is known.
  void skip(std::int64_t events) { events_ += events; }

  // The whole state as numbers, and back.
  std::vector<double> state() const {
    std::vector<double> out;
    for_each_number(*this, [&](auto number) { out.push_back(static_cast<double>(number)); });
    return out;
  }

  static RiseDetector restored(const std::vector<double>& numbers, double alpha = usual_alpha,
                               double cap_in_means = usual_cap) {
    RiseDetector self(alpha, cap_in_means);
    const std::size_t own = self.state().size(), kept = numbers.size() < own ? 0 : (numbers.size() - own) / 4;
    if (numbers.size() != own + 4 * kept || kept > most_kept) throw InputError("its drift detector is invalid");
    self.alarms_.resize(kept);
    auto next = numbers.begin();
    for_each_number(self, [&](auto& place) {
      constexpr bool is_count = std::is_same_v<decltype(place), std::int64_t&>;
      const double number = *next++;
      if (!(number >= 0.0 && number < infinity) || (is_count && !(number <= 0x1p53 && number == std::floor(number))))
        throw InputError("its drift detector is invalid");
      place = static_cast<std::remove_reference_t<decltype(place)>>(number);
    });
    self.require_sound();
    return self;
  }

 private:
  // That a rise begins at an event of each octave.
  static constexpr std::array<double, octaves> priors = [] {
    std::array<double, octaves> out{};
    double prior = 1.0 / octaves;
    for (double& each : out) each = std::exchange(prior, 0.5 * prior);
    return out;
  }();
  static constexpr double huge = 1e290, least_cap = 1e-280;  // so that no sum overflows, and no quotient

  // Losses as shares of a cap. A cap of zero, after a window without any loss, tells only whether there is one.
  static double share(double loss, double cap) { return loss >= cap ? (loss > 0.0 ? 1.0 : 0.0) : loss / cap; }

  // A loss as it counts in means of losses: beyond 8 caps, which is far above the mean, not more.
  static double trimmed(double loss, double cap) { return cap > 0.0 ? std::min(loss, usual_cap * cap) : loss; }

  // The window that is being filled, and what the one before lets expect: the mean of its shares, and their squares around it.
  struct Window {
    double cap = 0.0, mean = 0.0, squares = 0.0;
    double loss = 0.0, clipped = 0.0, spread = 0.0;

    void add(double each) {
      const double x = share(each, cap), off = x - mean;
      loss += trimmed(each, cap);
      clipped += x;
      spread += off * off;
    }
  };

  // The last complete window: its mean loss, the mean of its shares, and U.
  struct Reference {
    double cap = 0.0, mean = 0.0, clipped = 0.0, bound = 0.0;
  };

  // The e-processes of one bet: their sum, and the largest; and the sums of losses when the largest began.
  struct Bet {
    double wealth = 0.0, best = 0.0;
    std::int64_t event = 0, seen = 0;
    double loss = 0.0, clipped = 0.0;
  };

  // Whether the event raises an alarm, which is then kept.
  bool judge(double loss) {
    const int octave = std::bit_width(static_cast<std::uint64_t>(seen_)) - 1;
    const double prior = octave < octaves ? priors[static_cast<std::size_t>(octave)] : 0.0;
    const double x = share(loss, reference_.cap), excess = x / reference_.bound - 1.0;
    double sum = 0.0;
    for (std::size_t i = 0; i < bets.size(); ++i) {
      Bet& bet = bets_[i];
      const double factor = 1.0 + bets[i] * excess;
      if (bet.best <= prior) {
        bet.best = prior;
        bet.event = events_, bet.seen = seen_, bet.loss = loss_, bet.clipped = clipped_;
      }
      bet.best *= factor;
      sum += bet.wealth = (bet.wealth + prior) * factor;
    }
    loss_ += trimmed(loss, reference_.cap);
    clipped_ += std::min(loss, reference_.cap);
    if (sum < bets.size() * (2.0 / alpha_)) return false;
    const auto better = [](const Bet& one, const Bet& other) { return one.best < other.best; };
    const Bet& bet = *std::max_element(bets_.begin(), bets_.end(), better);
    const double n = real(seen_ + 1 - bet.seen);
    Alarm alarm{events_, bet.event, reference_.mean, (loss_ - bet.loss) / n};
    if (!(alarm.after > alarm.before)) {  // a few large losses hide the rise
      alarm.before = reference_.cap * reference_.clipped;
      alarm.after = (clipped_ - bet.clipped) / n;
    }
    keep(alarm);
    return true;
  }

  void keep(const Alarm& alarm) {
    ++count_;
    alarms_.push_back(alarm);
    if (alarms_.size() > most_kept) alarms_.erase(alarms_.begin());
  }

  // The window is complete: it becomes the reference, and the next one begins.
  void next_window() {
    const bool is_first = seen_ == first;
    const double n = real(is_first ? first : seen_ / 2), mean = window_.loss / n, clipped = window_.clipped / n;
    if (!is_first) reference_ = {window_.cap, mean, clipped, tolerated * std::min(clipped + slack(n), 1.0)};
    const double cap = cap_in_means_ * mean, expected = 1.0 / cap_in_means_;
    window_ = {.cap = cap > least_cap ? cap : 0.0,
               .mean = is_first ? expected : clipped,
               .squares = is_first ? n * (expected * expected) : 2.0 * window_.spread};
  }

  // How far the mean may be above that of the window: with probability 1 - α/2 at least, no window's is. The k-th of them has the
  // share 1/(k (k+1)) of it.
  double slack(double n) const {
    const int k = std::bit_width(static_cast<std::uint64_t>(seen_ / first)) - 1;
    const double price = log(2.0 * k * (k + 1.0) / alpha_);
    const double u = std::min(1.0 / (1.0 + std::sqrt(window_.squares / (2.0 * price))), 0.75);
    return (price / u + u / (2.0 * (1.0 - u)) * window_.spread) / n;
  }

  void begin_again() {
    seen_ = 0;
    loss_ = clipped_ = 0.0;
    window_ = {};
    reference_ = {};
    bets_ = {};
  }

  void require_sound() const {
    const auto is_wrong = [&](const Alarm& each) {
      return !(0 < each.since && each.since <= each.event && each.event <= events_);
    };
    const auto is_false = [&](const Bet& bet) { return bet.event > events_ || bet.seen > seen_; };
    if (seen_ > events_ || count_ < static_cast<std::int64_t>(alarms_.size()) ||
        (seen_ >= 2 * first && !(reference_.bound > 0.0)) || std::any_of(alarms_.begin(), alarms_.end(), is_wrong) ||
        std::any_of(bets_.begin(), bets_.end(), is_false))
      throw InputError("its drift detector is inconsistent");
  }

  static double real(std::int64_t number) { return static_cast<double>(number); }

  // All that changes, in the order of a file.
  template <class Self, class Visit>
  static void for_each_number(Self& self, Visit visit) {
    const auto all = [&](auto&... places) { (visit(places), ...); };
    auto& window = self.window_;
    auto& reference = self.reference_;
    all(self.events_, self.seen_, self.count_, self.loss_, self.clipped_);
    all(window.cap, window.mean, window.squares, window.loss, window.clipped, window.spread);
    all(reference.cap, reference.mean, reference.clipped, reference.bound);
    for (auto& bet : self.bets_) all(bet.wealth, bet.best, bet.event, bet.seen, bet.loss, bet.clipped);
    for (auto& each : self.alarms_) all(each.event, each.since, each.before, each.after);
  }

  double alpha_, cap_in_means_;
  std::int64_t events_ = 0;  // all of them
  std::int64_t seen_ = 0;    // those looked at since the last alarm
  std::int64_t count_ = 0;
  Window window_;
  Reference reference_;
  double loss_ = 0.0, clipped_ = 0.0;  // sums of what was judged
  std::array<Bet, bets.size()> bets_;
  std::vector<Alarm> alarms_;
};

}  // namespace odca
