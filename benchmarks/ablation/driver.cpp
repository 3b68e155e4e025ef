// Learns streams with the automatic mode as it was compiled here, and prints one line for each: its name, the progressive loss, the loss
// of the steady answer on the second half after the first half was learned, microseconds for an event, bytes of the model, features.
//
//     driver PRODUCTS FILE ...      at most so many products of features, -1: as many as by default
//
// A file holds 64-bit numbers: task (0 numbers, else the number of classes), events, features, non-zeros, then the arrays of a CSR matrix
// (starts and indices as 64-bit integers, values) and the labels.
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "odca/experts/mixture.hpp"

using odca::Batch;
using odca::SparseMatrix;
using odca::experts::Answer;
using odca::experts::Experts;
using odca::experts::Task;

namespace {

template <class T>
std::vector<T> read(std::FILE* file, std::int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  if (std::fread(out.data(), sizeof(T), out.size(), file) != out.size()) throw std::runtime_error("the file ends early");
  return out;
}

struct Stream {
  std::int64_t classes, events, features;
  std::vector<std::int64_t> start, index;
  std::vector<double> value, y;

  explicit Stream(const std::string& path) {
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    if (!file) throw std::runtime_error("cannot read " + path);
    const auto head = read<std::int64_t>(file, 4);
    classes = head[0], events = head[1], features = head[2];
    start = read<std::int64_t>(file, events + 1), index = read<std::int64_t>(file, head[3]);
    value = read<double>(file, head[3]), y = read<double>(file, events);
    std::fclose(file);
  }
  Batch batch(std::int64_t begin, std::int64_t end) const {
    Batch out;
    out.matrix = SparseMatrix<std::int64_t, double>{start.data() + begin, index.data(), value.data(),
                                                    static_cast<std::int64_t>(value.size())};
    out.rows = end - begin, out.width = features;
    return out;
  }
  std::unique_ptr<Experts> model(int products) const {
    const Task task = classes == 0 ? Task::numbers : classes == 2 ? Task::two_classes : Task::classes;
    return std::make_unique<Experts>(task, static_cast<int>(std::max<std::int64_t>(classes, 2)), products);
  }

  // Of the events from `begin` on: squared error, or log loss of answers that are logits.
  double loss(const std::vector<double>& answers, std::int64_t begin) const {
    const auto count = static_cast<std::int64_t>(y.size()) - begin;
    const auto width = static_cast<std::int64_t>(answers.size()) / count;
    const bool is_first_unknown = classes == 0 && begin == 0;  // nothing can be known of the first number
    double sum = 0.0;
    for (std::int64_t n = is_first_unknown; n < count; ++n) {
      const double *const z = &answers[static_cast<std::size_t>(n * width)], label = y[static_cast<std::size_t>(begin + n)];
      if (classes == 0) {
        sum += (label - z[0]) * (label - z[0]);
        continue;
      }
      double total = 0.0;
      if (width == 1) total = 1.0 + std::exp(label > 0.0 ? -z[0] : z[0]);
      else
        for (std::int64_t c = 0; c < width; ++c) total += std::exp(z[c] - z[static_cast<std::int64_t>(label)]);
      sum += std::min(std::log(total), -std::log(1e-15));
    }
    return sum / static_cast<double>(count - is_first_unknown);
  }
};

double seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double bytes_in_use() {
  const auto all = mallinfo2();
  return static_cast<double>(all.uordblks + all.hblkhd);
}

void run(const std::string& path, int products) {
  const Stream stream(path);
  const double before = bytes_in_use();
  const auto model = stream.model(products);
  const Batch all = stream.batch(0, stream.events);
  const double begin = seconds();
  std::vector<double> answers = model->learn({all, stream.y.data()}).predictions;
  const double taken = 1e6 * (seconds() - begin) / static_cast<double>(stream.events);
  const double loss = stream.loss(answers, 0);
  answers = {};
  const double bytes = bytes_in_use() - before;
  const std::int64_t half = stream.events / 2;
  const auto first = stream.model(products);
  const Batch early = stream.batch(0, half), late = stream.batch(half, stream.events);
  first->learn({early, stream.y.data()});
  const double steady = stream.loss(first->predict(late, Answer::steady), half);
  const std::string name = path.substr(path.rfind('/') + 1);
  std::printf("%s %.17g %.17g %.6g %.0f %lld\n", name.c_str(), loss, steady, taken, bytes,
              static_cast<long long>(stream.features));
}

}  // namespace

int main(int count, char** words) {
  for (int n = 2; n < count; ++n) run(words[n], std::stoi(words[1]));
}
