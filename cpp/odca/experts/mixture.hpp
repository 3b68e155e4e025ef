// The automatic mode: many experts that learn from one read of each row, and mixers that combine their predictions, so that nothing
// has to be tuned. experts.hpp declares the experts; docs/auto.md derives everything.
//
// An event's row is standardised, every expert predicts, three mixers combine the predictions, and a mixture of the mixers is the
// live prediction. Then mixers and experts learn, each by the scalar problem of the loss. The state depends on the order of events
// alone: however they are split into calls, it has the same bits. An event costs O(non-zeros x experts).
//
// Once pairs of features were chosen (pairs.hpp), every expert with a rate for each feature has a twin that sees their products p too,
//
//     z' = z + v'p
//
// where z is the margin of the expert itself, so that the twin begins as the expert is. v is learned like any weights, by the scalar
// problem at z'. The products are the features of a second table; of x nothing is stored or read twice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "odca/experts/experts.hpp"
#include "odca/experts/feature_table.hpp"
#include "odca/experts/history.hpp"
#include "odca/experts/label_bound.hpp"
#include "odca/experts/label_means.hpp"
#include "odca/experts/late.hpp"
#include "odca/experts/mixers.hpp"
#include "odca/experts/number_loss.hpp"
#include "odca/experts/pace.hpp"
#include "odca/experts/pairs.hpp"
#include "odca/experts/quantile_offsets.hpp"
#include "odca/experts/saved_state.hpp"
#include "odca/experts/steady.hpp"
#include "odca/math/batch.hpp"
#include "odca/problem/losses.hpp"
#include "odca/sync/long_call.hpp"
#include "odca/uncertainty/error_tracker.hpp"

namespace odca::experts {

enum class Task { two_classes, classes, numbers };

inline constexpr std::int64_t most_classes = 1 << 20;
inline constexpr double most_event_weight = 1e6;
inline constexpr double margin_bound = 10.0, probability_bound = 30.0, least_probability = 1e-15;

// What was said of events, to be kept until their labels come.
struct Asked {
  std::vector<double> said;  // [event][head][expert, live answer, steady answer]
  int heads = 0;             // as many as there were then
  std::int64_t after = 0;    // so many events, of weight above 0, had been learned

  // How many events these are.
  std::int64_t rows() const;
};
// How many classes a class that appears is the mean of, at most, so that it costs no more the more there are.
inline constexpr int averaged_by_a_class = 16;
inline constexpr int said_width = expert_count + 2, live_said = expert_count, steady_said = expert_count + 1;

inline std::int64_t Asked::rows() const {
  return heads > 0 ? static_cast<std::int64_t>(said.size()) / (std::int64_t{heads} * said_width) : 0;
}

// The events of a call. Labels are 0 and 1, indices of classes, or numbers. Without weights all are one; without times each event
// comes a tick after the one before. With `asked` the labels came later.
struct Events {
  const Batch& batch;
  const double* y = nullptr;
  const double* weight = nullptr;
  const double* time = nullptr;
  const std::vector<Asked>* asked = nullptr;  // consecutive events, each part from when it was asked about
};

// Which answer a prediction gives: the live one, for when the labels of the events before are known, or the steady one, for when no
// labels are coming in.
enum class Answer { live, steady };

// w, b and v of z = b + w'x + v'p, [head][feature], [head] and [product][head], and how much was learned about w and b: the sum of
// x_j^2 over all events, which is the curvature along weight j, as a mean over the features and the constant.
struct LinearModel {
  std::vector<double> weight, intercept;
  ProductTerms products;  // p
  std::vector<double> product_weight;
  double curvature = 0.0;
};

// A prediction as a linear model of x and products near one row, see explain.cpp: labels + intercept + the sums of slope times value
// over the row's features, and what products add.
struct Explanation {
  std::vector<std::int64_t> feature;
  std::vector<double> slope;  // [feature][head]
  // The products of two features that it uses, and what each adds.
  std::vector<Pairs::Pair> pair;
  std::vector<double> of_product;  // [pair][head]
  std::vector<double> labels,
      intercept;  // [head]: what the experts add that know the previous labels alone, and the rest
};

class Experts {
 public:
  // `products` is the most products of two features that are used: Pairs::automatic, or 0 for none. `loss` is that of numbers.
  Experts(Task task, int classes, int products = Pairs::automatic, const NumberLoss& loss = {});
  Experts(const Experts& other);  // as it is between two events

  int classes() const;
  // How many numbers a prediction has: the log odds of the second class, the log probabilities of all, or the number. (Of counts it is
  // the mean, whose logarithm is the margin.)
  int answer_width() const;

  // Learns the events in order. Returns how many were learned, all unless the call was interrupted, and the prediction of each from
  // before it was learned, [event][head]. A label one above the known classes is a new class, which has a head from its
  // event on. Invalid input is refused before anything changes.
  // `margins`, if given, receives those of every expert, [event][head][expert]; no new class may appear then.
  // Of events that were asked about before, the mixers learn from what the experts said then; the experts learn from where they are
  // now. late.cpp says more.
  struct Learned {
    std::int64_t events = 0;
    std::vector<double> predictions;
  };
  Learned learn(const Events& events, const Interrupted& interrupted = {}, std::vector<double>* margins = nullptr);
  // All events are answered by the same model, whatever other threads do.
  // `asked`, if given, receives what is to be kept until the labels of the events come.
  std::vector<double> predict(const Batch& batch, Answer answer = Answer::live, const Interrupted& interrupted = {},
                              Asked* asked = nullptr) const;
  // The steady answer as a linear model of x and products. Of several classes it gives logits.
  LinearModel linear() const;
  // Why the first row of a batch is predicted as it is.
  Explanation explain(const Batch& batch, Answer answer) const;

  // Throws InputError if that cannot be what these experts said of so many events.
  void require_fitting(const Asked& asked, std::int64_t rows) const;

  // Makes room for classes that may appear later.
  void declare(int classes);

  // Becomes the model of its own events and those of another one of the same task, in which feature j is places[j] here (without
  // places, j) and class c is classes[c] here (without classes, c). InputError if the places do not fit. See merging.cpp.
  void merge(const Experts& other, const std::vector<std::int64_t>& places, const std::vector<int>& classes);
  // Becomes one of so many parts, whose merge is the model of now: the same answers, a share of all that counts events.
  void become_part(int part, int parts);

  // How far from the truth the live and the steady predictions have been.
  uncertainty::Uncertainty uncertainty() const;

  std::int64_t count() const;
  std::int64_t features() const;
  // The weight of each expert by Bayes' rule, in the order of the table; they sum to one.
  std::vector<double> weights() const;
  // The pairs of features whose products are used, by how much they matter: the standard deviation of what each adds to the margin
  // of the experts with products, as the mixture weighs them.
  struct Product {
    Pairs::Pair pair;
    double size;
  };
  std::vector<Product> products() const;
  int most_products() const;  // as it was asked for
  // The weight of each member of the steady answer: those without products, those with products, the base rate; they sum to one.
  std::vector<double> steady_weights() const;
  std::vector<double> history() const;
  double mean_norm() const;

  // Everything that was learned, and the reverse. restore() throws InputError for what is no state of this task, and nothing has
  // changed then.
  SavedState state() const;
  void restore(const SavedState& state);
  // Experts in a state, whose arrays decide how large they may be: nothing else is believed.
  static std::unique_ptr<Experts> restored(Task task, std::int64_t classes, const SavedState& state,
                                           const NumberLoss& loss = {});

 private:
  // A state of the model: the number of its changes, and of the features that there is room for.
  struct State {
    std::uint64_t changes = 0;
    std::int64_t features = -1;
    bool operator==(const State&) const = default;
  };
  // What is computed for one event.
  struct Workspace {
    State state;  // in which the event was evaluated, if it was and has not been learned
    Batch::Scratch row;
    ScaledRow scaled;
    // [head][slot]: the experts' margins; bounded and centred; as probabilities, or numbers in range.
    std::vector<double> margin, bounded, likely;
    std::vector<double> of_mixers;  // [mixer][head]
    std::vector<double> mixed;      // [head]: probabilities, or the number
    FullNewton::Event full;
    std::vector<double> paired, products;  // features of chosen pairs, and their products, [slot]
    ScaledRow scaled_products;
    // Of the experts that read rows, group after group: [head][row slot], [head][full expert], and again [head][row slot] with products.
    std::vector<double> odds;    // log odds of the head's class by each expert, or its margin
    std::vector<double> slopes;  // how fast a step moves the margin
    std::vector<double> label;   // 1 for the head of the event's class, else 0
    std::vector<double> lambda;
    double simplex_margin = 0.0, kalman_margin = 0.0;
    double slope = 0.0, curvature = 0.0;  // of the loss at the prediction: g^2 and q
    std::vector<double> said;             // [head][said_width], if it is kept or the answers are mixed

    explicit Workspace(int heads);
  };

  Experts(const Experts& other, const Gate::Hold& inside);
  int heads() const { return task_ == Task::classes ? classes_ : 1; }
  // Where groups begin in arrays of them, and how many numbers there are of those in use.
  int first_full() const { return heads() * row_slots; }
  int first_twin() const { return heads() * (row_slots + full_experts); }
  int grouped() const { return first_twin() + (has_products() ? heads() * row_slots : 0); }
  bool has_products() const { return bayes_.count == expert_count; }
  int in_use() const { return bayes_.count; }
  void join_products();
  void merge_products(Experts& there, const std::vector<std::int64_t>& places);
  void keep_share(double share, std::int64_t learned);
  void merge_frozen(const Experts& there, double part, bool comparable);
  void absorb(Experts& there, const std::vector<std::int64_t>& places, const std::vector<int>& classes);
  std::vector<double> predict_inside(LongCall& call, const Batch& batch, Answer answer, Asked* asked) const;
  void require_fitting_inside(const Asked& asked, std::int64_t rows) const;
  void require_valid(const Events& events) const;
  void add_classes(int classes, int averaged = averaged_by_a_class);

  // An event that is learned right after it was asked about is not evaluated again: a call leaves its workspace to the next one.
  std::unique_ptr<Workspace> take_workspace() const;
  bool is_evaluated(const Row& row, std::uint64_t changes, const Workspace& work) const;
  void evaluate(const Row& row, Workspace& work) const;
  void standardise(const Row& row, Workspace& work) const;
  void standardise_products(Workspace& work) const;
  void update_density(const Row& row, Workspace& work);
  void mix(Workspace& work) const;
  void write_margins(Workspace& work) const;
  void write_bases(double* out) const;
  void append_steady_prediction(const Row& row, std::vector<double>& out) const;
  void append_prediction(const Workspace& work, std::vector<double>& out) const;
  void append_answer(const Row& row, Workspace& work, bool is_kept, std::vector<double>& out) const;
  void explain_steady(const Row& row, Explanation& out) const;
  void explain_live(const Row& row, Explanation& out) const;
  void explain_experts(const Workspace& work, Explanation& out) const;
  void explain_products(const Workspace& work, std::vector<double>& direction, Explanation& out) const;
  void mix_in_steady(const Row& row, const Workspace& work, Explanation& out) const;
  struct Shares {
    std::vector<double> live, steady;
  };
  Shares shares_of_answers(const Workspace& work) const;
  void differentiate(const Workspace& work, const double* direction, double* out) const;
  void differentiate_two(const Workspace& work, const double* direction, double* out) const;
  void differentiate_classes(const Workspace& work, const double* direction, double* out) const;
  void differentiate_softmax(const Workspace& work, int mixer, double* change, const double* of_bayes) const;
  void differentiate_number(const Workspace& work, const double* direction, double* out) const;
  void mix_two(Workspace& work) const;
  void mix_classes(Workspace& work) const;
  void use_bayes_for_unseen_classes(Workspace& work) const;
  // Which numbers the mixers may tell from each other: those within this distance of the leading expert's.
  struct Reach {
    std::size_t leader;
    double centre, distance;
  };
  Reach reach_of(const Workspace& work) const;
  UnitLoss unit_loss() const { return {loss_, curvature_.kappa(loss_)}; }
  double within_range(double z) const { return number_labels_.within_range(loss_, z); }
  void mix_number(Workspace& work) const;

  // An event that is learned: what was said of it when it was asked about, and how many events were learned since.
  struct Late {
    const double* said;
    int heads;
    double delay;
    bool informed;  // something had been learned by then
  };
  // `work` is what the experts say now, `asked` what they said when they were asked; the same, if the label comes at once.
  void learn_one(const Row& row, Workspace& work, Workspace& asked, const Late& late, double y, double c, double time);
  void learn_two(Workspace& work, double y, double c, const Pace& pace);
  void learn_classes(Workspace& work, int y, double c, const Pace& pace);
  void learn_number(Workspace& work, double y, double c, const Pace& pace);
  void mixers_learn_number(Workspace& work, double y, double c, const Pace& pace);
  void step_experts(Workspace& work, double y, double c, const Pace& pace, bool step_products);
  void learn_pairs(const Workspace& work, double y, double c);
  void choose_pairs();
  void solve_classes(Workspace& work, int y, double sd, const double* s) const;
  void solve_numbers(Workspace& work, double y, const double* s) const;
  double against_others(const Workspace& work, const double* p, int y, double* x) const;
  void measure_slope(Workspace& work, double y) const;
  double loss_of(const Workspace& work, double y) const;
  double score_of(const double* answer, int heads, double y) const;
  Pace pace_at(double time);
  double label_to_learn(const Workspace& work, double y, double c);

  std::vector<double> bases() const;
  void freeze_members();
  // Class c becomes that of source[c], or a new one if that is -1, which begins at the mean of at most so many others.
  void arrange_classes(std::vector<int> source, int averaged);

  std::int64_t learned_from() const { return static_cast<std::int64_t>(event_weights_.mass); }
  // An event, as one of those that were asked about together.
  struct Origin {
    const Asked* asked;
    std::int64_t row;
  };
  static std::vector<Origin> origins_of(const Events& events);
  Late late_event(const Origin* origin, const Workspace& work) const;
  void write_said(const Row& row, Workspace& work) const;
  void write_asked(const Late& event, double* margin) const;
  void write_asked_of_two(const double* said, double* margin) const;
  void judge_answers(const Late& event, double y, double c, const Pace& pace);
  std::vector<double> late_answer(const Late& event) const;

  int class_count() const { return task_ == Task::numbers ? 0 : classes_; }
  void read_parts(const SavedState::Parts& parts);
  void require_possible() const;

  // All that is learned, to be copied or swapped.
  template <class Self>
  static auto all(Self& self) {
    return std::tie(self.task_, self.classes_, self.features_, self.products_, self.pairs_, self.class_labels_,
                    self.loss_, self.number_labels_, self.curvature_, self.offsets_, self.label_bound_, self.bayes_,
                    self.simplex_, self.kalman_, self.top_, self.steady_, self.late_, self.residual_,
                    self.kalman_residual_, self.event_weights_, self.count_, self.timed_, self.first_time_,
                    self.last_time_, self.history_, self.uncertainty_);
  }

  template <class Self, class Visit>
  static void each_part(Self& self, Visit&& visit) {
    FeatureTable::each_part(self.features_, visit);
    if (self.has_products())
      FeatureTable::each_part(self.products_, [&](const char* name, auto& value) {
        visit((std::string("products.") + name).c_str(), value);
      });
    Pairs::each_part(self.pairs_, visit);
    ClassLabels::each_part(self.class_labels_, visit);
    NumberLabels::each_part(self.number_labels_, visit);
    if (!self.loss_.is_squared()) {
      MeanCurvature::each_part(self.curvature_, "residual_", visit);
      SteadyMixer::each_loss_part(self.steady_, visit);
      QuantileOffsets::each_part(self.offsets_, visit);
    }
    LabelBound::each_part(self.label_bound_, visit);
    History::each_part(self.history_, visit);
    SteadyMixer::each_part(self.steady_, visit);
    visit("bayes", self.bayes_.weight), visit("simplex", self.simplex_.weight), visit("top", self.top_.weight);
    visit("kalman", self.kalman_.weight), visit("covariance", self.kalman_.covariance);
    visit("residual", self.residual_.sum), visit("residual_mass", self.residual_.mass);
    visit("kalman_residual", self.kalman_residual_.sum), visit("kalman_residual_mass", self.kalman_residual_.mass);
    visit("late_steady", self.late_.steady);
    visit("late_residual", self.late_.residual.sum), visit("late_residual_mass", self.late_.residual.mass);
    visit("weights", self.event_weights_.sum), visit("weighed", self.event_weights_.mass);
    visit("live_errors", self.uncertainty_.live), visit("steady_errors", self.uncertainty_.steady);
    visit("count", self.count_), visit("timed", self.timed_);
    visit("first_time", self.first_time_), visit("last_time", self.last_time_);
  }

  Task task_;
  int classes_;
  FeatureTable features_, products_;
  Pairs pairs_;
  ClassLabels class_labels_;
  NumberLoss loss_;
  NumberLabels number_labels_;
  MeanCurvature curvature_;  // of the loss, at the live predictions
  QuantileOffsets offsets_;
  LabelBound label_bound_;
  Bayes bayes_;
  Simplex simplex_;
  Kalman kalman_;
  Top top_;
  SteadyMixer steady_;
  LateMixer late_;
  FadingMean residual_, kalman_residual_;  // squared slopes of the loss: of squared error, squared errors
  FadingMean event_weights_;
  std::int64_t count_ = 0, timed_ = 0;
  double first_time_ = 0.0, last_time_ = 0.0;
  History history_;
  uncertainty::Uncertainty uncertainty_;
  Logistic logistic_;
  Gate gate_;
  std::uint64_t changes_ = 0;                 // of the state, for predictions that let others in between two events
  mutable std::unique_ptr<Workspace> spare_;  // of the last call; to whoever is inside
};

}  // namespace odca::experts
