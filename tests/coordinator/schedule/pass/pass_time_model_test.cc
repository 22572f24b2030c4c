#include "coordinator/schedule/pass/pass_time_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cpu_time.h"

namespace scorecast::coordinator {
namespace pass_time_model_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A machine whose passes take exactly what a PassTimeModel can express.
struct Machine {
  double base = 20e-3;
  double few = 1e-3;
  double row = 2e-3;
  double key = 1e-6;
  double read = 1e-4;
  double label = 1e-7;
  double product = 1e-6;
  double top = 1e-5;

  double Seconds(const PassWork& work) const {
    const auto few_rows = static_cast<double>(std::min<std::int64_t>(work.rows, 32));
    return base + few * few_rows + row * (static_cast<double>(work.rows) - few_rows) +
           key * static_cast<double>(work.keys) + read * static_cast<double>(work.reads) +
           label * static_cast<double>(work.labels) + product * static_cast<double>(work.products) +
           top * static_cast<double>(work.top);
  }
};

/// Errors of a machine's passes are uniform in [-kNoise, kNoise], in parts of their time.
constexpr double kNoise = 0.1;
const double kDeviation = kNoise / std::sqrt(3.0);

class PassTimeModelTest : public ::testing::Test {
 protected:
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  /// Work of `rows` rows with a random number of keys and reads.
  PassWork WorkOf(double rows) {
    PassWork work;
    work.rows = static_cast<std::int64_t>(rows);
    work.keys = static_cast<std::int64_t>(rows * std::exp(Uniform(std::log(8), std::log(8000))));
    work.reads = std::max<std::int64_t>(1, static_cast<std::int64_t>(rows * Uniform(0, 1)));
    return work;
  }
  PassWork Decode() { return WorkOf(Uniform(1, 17)); }
  PassWork Prompt() { return WorkOf(std::exp(Uniform(std::log(33), std::log(8192)))); }
  PassWork Any() { return Uniform(0, 4) < 1 ? Decode() : Prompt(); }

  double Noisy(double seconds) {
    const double outlier = Uniform(0, 1) < outliers_ ? 10 : 1;
    return seconds * Uniform(1 - kNoise, 1 + kNoise) * outlier;
  }

  /// Root of the mean square of the relative errors of predictions of further work.
  template <typename NextWork>
  double ErrorOn(const PassTimeModel& model, const Machine& machine, NextWork next_work) {
    constexpr int kWorks = 1000;
    double squares = 0;
    for (int i = 0; i < kWorks; ++i) {
      const PassWork work = next_work();
      squares += std::pow(model.Seconds(work) / machine.Seconds(work) - 1, 2);
    }
    return std::sqrt(squares / kWorks);
  }

  std::mt19937_64 random_{1};
  double outliers_ = 0.05;
};

/// Upper bound on ErrorOn of a model that has seen many noisy passes of all sizes.
///
/// The mean square of the errors of five coefficients, at the works to which they were fitted, is
/// deviation^2 * 5 / n. It has 5 degrees of freedom, and exceeds 4 times its mean once in a
/// thousand times. 24 passes of each of 4 sizes are kept. Their weights, of which half is lost
/// after 32 passes, are worth n = (sum of weights)^2 / (sum of squares) = 72 equal ones.
///
/// An error u of a pass weighs (1 + u)^-2 if it is positive, because it is relative to the longer
/// time. So predictions are short by kNoise^2 / 3. Of 20 passes one is an outlier. Its time is
/// relative to itself, so it pulls at most a tenth as much as a pass with the largest error.
const double kFittedError =
    2 * kDeviation * std::sqrt(5.0 / 72) + kNoise * kNoise / 3 + kNoise / 10 / 20;

TEST_F(PassTimeModelTest, FindsTheCoefficientsOfExactPasses) {
  const Machine machine{.base = 20e-3, .few = 10e-3, .row = 2e-3, .key = 1e-6, .read = 1e-4};
  PassTimeModel model;
  for (int i = 0; i < 100; ++i) {
    for (const PassWork& work :
         {PassWork{.rows = 1}, PassWork{.rows = 32}, PassWork{.rows = 8192},
          PassWork{.rows = 1, .keys = 100'000'000}, PassWork{.rows = 1, .reads = 1'000'000}}) {
      model.Observe(work, machine.Seconds(work));
    }
  }
  // Of each work at least 6 are kept, none older than 30 passes, so they weigh at least 6 * 0.7.
  // Row, key and read are nearly all of a pass. Base and few are 2/3 and 1/3 of the first one, 1/17
  // and 16/17 of the second, which gives the matrix of the fit a least eigenvalue of 1.3. So the
  // prior, which weighs 1e-4 and is off by at most 1 in each of five coefficients, moves them by
  // at most:
  const double part = 1e-4 * std::sqrt(5.0) / 1.3;
  const PassRates rates = model.rates();
  EXPECT_NEAR(rates.row, machine.row, part * machine.row);
  EXPECT_NEAR(rates.key, machine.key, part * machine.key);
  EXPECT_NEAR(rates.read, machine.read, part * machine.read);
  for (const std::int64_t rows : {1, 2, 10, 32, 33, 512, 8192}) {
    const PassWork work{.rows = rows, .keys = 100 * rows, .reads = rows};
    EXPECT_NEAR(model.Seconds(work), machine.Seconds(work), part * machine.Seconds(work)) << rows;
  }
  EXPECT_LT(model.error(), part);
}

TEST_F(PassTimeModelTest, FindsThemFromNoisyPassesWithOutliers) {
  for (const double scale : {1e-4, 1.0, 100.0}) {
    const Machine machine{20e-3 * scale, 1e-3 * scale, 2e-3 * scale, 1e-6 * scale, 1e-4 * scale};
    PassTimeModel model;
    for (int i = 0; i < 1000; ++i) {
      const PassWork work = Any();
      model.Observe(work, Noisy(machine.Seconds(work)));
    }
    EXPECT_LT(ErrorOn(model, machine, [&] { return Any(); }), kFittedError) << scale;
    // Of all errors, 5 % are outliers' and the others uniform up to kNoise. The median of 32 has a
    // deviation of about 0.5 / sqrt(32) in its rank.
    EXPECT_NEAR(model.error(), kNoise / 2, kNoise * 3 * 0.5 / std::sqrt(32) + kFittedError);
  }
}

TEST_F(PassTimeModelTest, WhatReadsReturnTakesItsOwnTime) {
  const Machine machine;
  PassTimeModel model;
  // Half of the passes return two labels a read. The others return much, of one of three kinds.
  const auto returning = [&] {
    PassWork work = Any();
    switch (static_cast<int>(Uniform(0, 6))) {
      case 0:
        work.labels = 2560 * work.reads;
        break;
      case 1:
        work.products = 1000 * work.reads;
        break;
      case 2:
        work.labels = 2 * work.reads;
        work.top = 50 * work.reads;
        break;
      default:
        work.labels = 2 * work.reads;
    }
    return work;
  };
  for (int i = 0; i < 1000; ++i) {
    const PassWork work = returning();
    model.Observe(work, Noisy(machine.Seconds(work)));
  }
  EXPECT_LT(ErrorOn(model, machine, returning), 2 * kFittedError);
}

TEST_F(PassTimeModelTest, SmallReadsDoNotSpoilLargeOnes) {
  const Machine machine;
  PassTimeModel model;
  const auto large = [&] {
    PassWork work = Any();
    work.labels = 20'000 * work.reads;
    return work;
  };
  const auto small = [&] {
    PassWork work = Any();
    work.labels = 2 * work.reads;
    return work;
  };
  for (const auto& next : {std::function<PassWork()>(large), std::function<PassWork()>(small)}) {
    for (int i = 0; i < 1000; ++i) {
      const PassWork work = next();
      model.Observe(work, Noisy(machine.Seconds(work)));
    }
  }
  EXPECT_LT(ErrorOn(model, machine, small), kFittedError);
  EXPECT_LT(ErrorOn(model, machine, large), 2 * kFittedError);
}

TEST_F(PassTimeModelTest, APriorThatIsFarOffIsForgotten) {
  const Machine machine;
  for (const double factor : {1e-6, 1e-3, 1e3, 1e6}) {
    PassTimeModel model(PassRates{machine.base * factor, machine.row / factor, machine.key * factor,
                                  machine.read / factor});
    for (int i = 0; i < 1000; ++i) {
      const PassWork work = Any();
      model.Observe(work, Noisy(machine.Seconds(work)));
    }
    EXPECT_LT(ErrorOn(model, machine, [&] { return Any(); }), kFittedError) << factor;
  }
}

TEST_F(PassTimeModelTest, FollowsAMachineThatBecomesTwiceAsSlow) {
  const Machine fast;
  const Machine slow{2 * fast.base, 2 * fast.few, 2 * fast.row, 2 * fast.key, 2 * fast.read};
  PassTimeModel model;
  for (int i = 0; i < 1000; ++i) {
    const PassWork work = Any();
    model.Observe(work, Noisy(fast.Seconds(work)));
  }
  for (int i = 0; i < 100; ++i) {
    const PassWork work = Any();
    model.Observe(work, Noisy(slow.Seconds(work)));
  }
  // The kept passes of the fast machine weigh at most the sum of 2^(-n / 32) from n = 100 on: 5.4.
  // They have an error of 0.5. That is more than k = 2 * median = kNoise, so they pull like an
  // error of k. The passes of the slow machine weigh at least half of the sum from 0 to 99: 20.
  EXPECT_LT(ErrorOn(model, slow, [&] { return Any(); }), kFittedError + 5.4 * kNoise / 20);
}

TEST_F(PassTimeModelTest, AStoppedMachineChangesLittle) {
  const Machine machine;
  PassTimeModel model;
  for (int i = 0; i < 1000; ++i) {
    const PassWork work = Any();
    model.Observe(work, Noisy(machine.Seconds(work)));
  }
  for (const double seconds : {3600.0, 1e300, 1e-300}) {
    model.Observe(Prompt(), seconds);
  }
  EXPECT_LT(ErrorOn(model, machine, [&] { return Any(); }), kFittedError);
}

TEST_F(PassTimeModelTest, DecodingForHoursDoesNotSpoilThePrompts) {
  const Machine machine;
  PassTimeModel model;
  for (int i = 0; i < 1000; ++i) {
    const PassWork work = Any();
    model.Observe(work, Noisy(machine.Seconds(work)));
  }
  const double before = ErrorOn(model, machine, [&] { return Prompt(); });
  for (int i = 0; i < 20'000; ++i) {
    const PassWork work = Decode();
    model.Observe(work, Noisy(machine.Seconds(work)));
  }
  EXPECT_LT(before, kFittedError);
  EXPECT_LT(ErrorOn(model, machine, [&] { return Prompt(); }), 2 * kFittedError);
  EXPECT_LT(ErrorOn(model, machine, [&] { return Decode(); }), kFittedError);
}

TEST_F(PassTimeModelTest, WhatThePassesDoNotDetermineStaysAtThePriors) {
  const PassRates prior{.overhead = 0.05, .row = 3e-3, .key = 5e-6, .read = 7e-4};
  PassTimeModel model(prior);
  for (int i = 0; i < 20'000; ++i) {
    model.Observe({.rows = 4}, Noisy(0.02));  // Neither keys nor reads.
  }
  // The diagonal of the fit's matrix is enlarged by 1e-9.
  EXPECT_NEAR(model.rates().row, prior.row, 1e-8 * prior.row);
  EXPECT_NEAR(model.rates().key, prior.key, 1e-8 * prior.key);
  EXPECT_NEAR(model.rates().read, prior.read, 1e-8 * prior.read);
  EXPECT_NEAR(model.Seconds({.rows = 4}), 0.02, 0.02 * kFittedError);
}

TEST_F(PassTimeModelTest, APriorWithSlowRowsDoesNotKeepPassesSmall) {
  const Machine machine{.base = 1e-3, .few = 1e-3, .row = 1e-3, .key = 1e-8, .read = 1e-5};
  PassTimeModel model(PassRates{.overhead = 1e-3, .row = 10e-3, .key = 1e-8, .read = 1e-5});
  // Each pass has as many rows as are predicted to take 200 ms, at least 32.
  std::int64_t rows = 32;
  for (int i = 0; i < 200; ++i) {
    const PassWork work{.rows = rows, .keys = 10 * rows, .reads = 1};
    model.Observe(work, machine.Seconds(work) * Uniform(1 - kNoise, 1 + kNoise));
    const PassRates rates = model.rates();
    rows =
        std::max<std::int64_t>(32, static_cast<std::int64_t>((0.2 - rates.overhead) / rates.row));
  }
  EXPECT_NEAR(machine.Seconds({.rows = rows, .keys = 10 * rows, .reads = 1}), 0.2, 0.2 * kNoise);
}

TEST_F(PassTimeModelTest, NoWorkIsFree) {
  PassTimeModel model;
  for (int i = 0; i < 1000; ++i) {
    model.Observe(Any(), 0.01);
  }
  const PassRates rates = model.rates();
  EXPECT_GT(rates.row, 0);
  EXPECT_GT(rates.key, 0);
  EXPECT_GT(rates.read, 0);
  EXPECT_GT(rates.label, 0);
  EXPECT_GT(rates.product, 0);
  EXPECT_GT(rates.top, 0);
  // Row, key and read each keep at most a twentieth of the time of a pass.
  EXPECT_NEAR(model.Seconds({.rows = 1}), 0.01, 0.01 * 0.05);
}

TEST_F(PassTimeModelTest, PredictsByItsPriorAtFirst) {
  const PassTimeModel model(PassRates{.overhead = 1, .row = 2, .key = 3, .read = 5});
  EXPECT_DOUBLE_EQ(model.Seconds({.rows = 7, .keys = 11, .reads = 13}), 1 + 14 + 33 + 65);
  EXPECT_DOUBLE_EQ(model.Seconds({.rows = 100}), 201);
  EXPECT_EQ(model.Seconds({}), 0);
  EXPECT_EQ(model.error(), 0);
  EXPECT_DOUBLE_EQ(model.rates().overhead, 1);
  EXPECT_DOUBLE_EQ(model.rates().row, 2);
}

TEST_F(PassTimeModelTest, WithoutAPriorTheFirstPassGivesTheScale) {
  for (PassTimeModel model : {PassTimeModel(), PassTimeModel(PassRates())}) {
    EXPECT_GT(model.Seconds({.rows = 1}), 0);
    const PassWork work{.rows = 64, .keys = 64 * 65 / 2, .reads = 1};
    model.Observe(work, 123);
    EXPECT_NEAR(model.Seconds(work), 123, 1e-6);
    EXPECT_EQ(model.error(), 0) << "nothing was predicted";
    model.Observe(work, 246);
    EXPECT_NEAR(model.error(), 0.5, 1e-6);
  }
}

TEST_F(PassTimeModelTest, IgnoresWhatIsNoPass) {
  const Machine machine;
  PassTimeModel model;
  model.Observe({.rows = 64}, machine.Seconds({.rows = 64}));
  const double before = model.Seconds({.rows = 512});
  model.Observe({}, 1);
  for (const double seconds : {0.0, -1.0, kInfinity, -kInfinity, std::nan("")}) {
    model.Observe({.rows = 64}, seconds);
  }
  EXPECT_EQ(model.Seconds({.rows = 512}), before);
}

TEST_F(PassTimeModelTest, IsFiniteWhateverItSees) {
  for (int run = 0; run < 100; ++run) {
    PassTimeModel model;
    if (run % 2 == 1) {
      const auto rate = [&] { return Uniform(0, 1) < 0.3 ? 0 : std::exp(Uniform(-50, 20)); };
      model = PassTimeModel(PassRates{rate(), rate(), rate(), rate(), rate(), rate(), rate()});
    }
    for (int i = 0; i < 200; ++i) {
      const auto count = [&](double digits) {
        return static_cast<std::int64_t>(std::exp(Uniform(0, digits)));
      };
      const PassWork work{count(14), count(40), count(14), count(30), count(30), count(20)};
      model.Observe(work, Uniform(0, 1) < 0.3 ? 0.1 : std::exp(Uniform(-700, 700)));
      const PassRates rates = model.rates();
      for (const double value :
           {rates.row, rates.key, rates.read, rates.label, rates.product, rates.top, model.error(),
            model.Seconds(work), model.Seconds({count(14), count(40), count(14)}),
            model.BoundedSeconds(0.2, 8192)}) {
        ASSERT_TRUE(std::isfinite(value));
        ASSERT_GE(value, 0);
      }
      ASSERT_TRUE(std::isfinite(rates.overhead));
      ASSERT_LE(model.error(), 1);
    }
  }
}

/// A model of the machine, after passes with `keys` keys a row.
PassTimeModel ExactModel(const Machine& machine, std::int64_t keys) {
  PassTimeModel model;
  for (int i = 0; i < 32; ++i) {
    for (const std::int64_t rows : {1, 8, 32, 64, 256, 1024, 4096}) {
      const PassWork work{.rows = rows, .keys = keys * rows, .reads = rows / 32};
      model.Observe(work, machine.Seconds(work));
    }
  }
  return model;
}

/// By search, the time of the smallest pass that reaches 95 % of the rows/s of a pass of
/// `max_rows`.
double EfficientSeconds(const PassTimeModel& model, std::int64_t keys, std::int64_t max_rows) {
  const auto seconds = [&](std::int64_t rows) {
    return model.Seconds({.rows = rows, .keys = keys * rows, .reads = rows / 32});
  };
  const double enough = 0.95 * static_cast<double>(max_rows) / seconds(max_rows);
  for (std::int64_t rows = 32; rows < max_rows; rows += 32) {
    if (static_cast<double>(rows) / seconds(rows) >= enough) {
      return seconds(rows);
    }
  }
  return seconds(max_rows);
}

TEST_F(PassTimeModelTest, BoundOfAMachineThatComputesSlowly) {
  // 32 rows already take longer than reading the weights.
  const Machine machine{.base = 10e-3, .few = 1.75e-3, .row = 2e-3, .key = 1e-7, .read = 1e-4};
  const PassTimeModel model = ExactModel(machine, 100);
  EXPECT_EQ(model.BoundedSeconds(0.2, 8192), 0.2);
  const double efficient = EfficientSeconds(model, 100, 8192);
  EXPECT_LT(efficient, 0.2);
  // The search looks at whole multiples of 32 rows.
  EXPECT_NEAR(model.BoundedSeconds(0, 8192), efficient, 32 * 2.1e-3);
  EXPECT_EQ(model.BoundedSeconds(kInfinity, 8192), kInfinity);
}

TEST_F(PassTimeModelTest, BoundOfAMachineThatReadsItsWeightsSlowly) {
  const Machine machine{.base = 100e-3, .few = 1e-5, .row = 1e-4, .key = 1e-8, .read = 1e-5};
  for (const std::int64_t max_rows : {512, 8192, 1'000'000}) {
    for (const std::int64_t keys : {10, 1000, 100'000}) {
      const PassTimeModel model = ExactModel(machine, keys);
      const double efficient = EfficientSeconds(model, keys, max_rows);
      EXPECT_GT(efficient, 0.1);
      EXPECT_LT(model.error(), 1e-3);
      // The search looks at whole multiples of 32 rows. Two deviations of the overhead, each at
      // most 1.5 median errors of it, count 20 times.
      const double step = 32 * (1.1e-4 + 1e-8 * static_cast<double>(keys));
      const double uncertain = 20 * 2 * 1.5 * model.error() * machine.base;
      EXPECT_NEAR(model.BoundedSeconds(0.01, max_rows), efficient, step + uncertain)
          << max_rows << " " << keys;
      EXPECT_EQ(model.BoundedSeconds(10, max_rows), 10);
    }
  }
}

TEST_F(PassTimeModelTest, AnOverheadThatIsNotCertainDoesNotLengthenPasses) {
  // All prompts take 200 ms, so they say little of the overhead of a pass.
  const Machine machine{.base = 20e-3, .few = 1.4e-3, .row = 2e-3, .key = 1e-7, .read = 1e-4};
  double longest = 0;
  for (int run = 0; run < 20; ++run) {
    PassTimeModel model;
    for (int i = 0; i < 1000; ++i) {
      const std::int64_t rows = i % 2 == 0 ? 1 : 96;
      const PassWork work{.rows = rows, .keys = 200 * rows, .reads = 1};
      model.Observe(work, machine.Seconds(work) * Uniform(0.7, 1.3));
      longest = std::max(longest, i < 100 ? 0 : model.BoundedSeconds(0.2, 8192));
    }
  }
  EXPECT_EQ(longest, 0.2);
}

TEST_F(PassTimeModelTest, ANoisyOverheadThatIsCertainDoes) {
  const Machine machine{.base = 0.1, .few = 1e-5, .row = 1e-4, .key = 1e-8, .read = 1e-5};
  PassTimeModel model;
  for (int i = 0; i < 1000; ++i) {
    const PassWork work = Any();
    model.Observe(work, Noisy(machine.Seconds(work)));
  }
  EXPECT_GT(model.BoundedSeconds(0.2, 8192), 0.2);
}

/// Rows of the passes that a scheduler would form, after many of up to 32 rows: every other pass is
/// one of a few completions, and the rest are as large as the bound of 0.2 s allows, but have at
/// least 32 rows.
std::vector<std::int64_t> RowsOfBoundedPasses(const Machine& machine, PassTimeModel& model) {
  const auto observe = [&](std::int64_t rows) {
    const PassWork work = {.rows = rows, .keys = 100 * rows};
    model.Observe(work, machine.Seconds(work));
  };
  for (int i = 0; i < 200; ++i) {
    observe(1 + i % 32);
  }
  std::vector<std::int64_t> all;
  for (int i = 0; i < 960; ++i) {
    const PassRates rates = model.rates();
    const double seconds = model.BoundedSeconds(0.2, 8192) - rates.overhead;
    const double rows = seconds / rates.Seconds({.rows = 1, .keys = 100});
    all.push_back(static_cast<std::int64_t>(
        i % 2 == 0 ? 1 + i % 8 : std::clamp(std::floor(rows + 1e-6), 32.0, 8192.0)));
    observe(all.back());
  }
  return all;
}

TEST_F(PassTimeModelTest, LargerPassesAreTriedIfThirtyTwoRowsTakeLongerThanTheBound) {
  // The first rows take as long as others, and reading the weights as long as 20 of them.
  const Machine machine{.base = 0.2, .few = 10e-3, .row = 10e-3, .key = 1e-7};
  PassTimeModel model;
  RowsOfBoundedPasses(machine, model);
  const double efficient = EfficientSeconds(ExactModel(machine, 100), 100, 8192);
  EXPECT_GT(efficient, 2);
  EXPECT_NEAR(model.BoundedSeconds(0.2, 8192), efficient, 0.1 * efficient);
}

TEST_F(PassTimeModelTest, LargerPassesAreTriedRarelyIfTheyBringNothing) {
  const Machine machine{.base = 1e-3, .few = 8e-3, .row = 8e-3, .key = 1e-7};
  PassTimeModel model;
  const std::vector<std::int64_t> rows = RowsOfBoundedPasses(machine, model);
  const auto larger = std::ranges::count_if(rows, [](std::int64_t of) { return of > 32; });
  EXPECT_GE(larger, 960 / 64);
  EXPECT_LE(larger, 960 / 16);
}

TEST_F(PassTimeModelTest, AnObservationTakesMicroseconds) {
  const Machine machine;
  PassTimeModel model;
  std::vector<PassWork> works;
  for (int i = 0; i < 1000; ++i) {
    works.push_back(Any());
  }
  const double begin = ThreadCpuSeconds();
  for (const PassWork& work : works) {
    model.Observe(work, Noisy(machine.Seconds(work)));
  }
  const double each = (ThreadCpuSeconds() - begin) / 1000;
  RecordProperty("nanoseconds", static_cast<int>(1e9 * each));
  // Generous, because builds with sanitizers are slow.
  EXPECT_LT(each, 1e-3);
}

}  // namespace pass_time_model_test
}  // namespace scorecast::coordinator
