// Classes that appear while a stream is learned, or that are declared before.
#include <string>
#include <utility>
#include <vector>

#include "odca/experts/mixture.hpp"

namespace odca::experts {

void Experts::declare(int classes) {
  const auto only_writer = gate_.only_writer();
  const auto inside = gate_.inside();
  if (classes > most_classes) throw InputError("there are at most a million classes; got " + std::to_string(classes));
  if (task_ == Task::numbers || classes <= classes_) return;
  add_classes(classes);
  ++changes_;
}

void Experts::add_classes(int classes, int averaged) {
  std::vector<int> source(static_cast<std::size_t>(classes), -1);
  for (int c = 0; c < classes_; ++c) source[c] = c;
  arrange_classes(std::move(source), averaged);
}

void Experts::arrange_classes(std::vector<int> source, int averaged) {
  const auto classes = static_cast<int>(source.size());
  ClassLabels labels = class_labels_.with_classes(source);
  std::vector<double> factor(source.size(), 1.0);
  if (classes == 2) {  // there were two before, too: the log odds of the second, or of the first
    factor = {source[1] == 1 ? 1.0 : -1.0};
    source = {0};
  } else if (task_ == Task::two_classes) {
    for (int c = 0; c < classes; ++c)  // z is the logits -z/2, z/2
      if (source[c] >= 0) factor[c] = source[c] == 0 ? -0.5 : 0.5, source[c] = 0;
  }
  const Records::Arrangement to(std::move(source), std::move(factor), averaged);
  features_.arrange_heads(to), products_.arrange_heads(to);
  pairs_.begin_sums(to.heads());
  class_labels_ = std::move(labels);
  task_ = classes == 2 ? Task::two_classes : Task::classes;
  classes_ = classes;
}

}  // namespace odca::experts
