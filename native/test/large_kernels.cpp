#include <utility>

#include "generated/expressions.hpp"
#include "random_kernels.hpp"

namespace tilefold::test {
namespace {

using Numbers = std::vector<double>;

template <std::size_t count>
Numbers coded(const double (&code)[count]) {
  return {code, code + count};
}

Kernel withExpression(KernelKind kind, Numbers fields, const Numbers& code) {
  fields.push_back(static_cast<double>(code.size()));
  fields.insert(fields.end(), code.begin(), code.end());
  return {kind, fields};
}

double numberOf(Operation operation) { return static_cast<double>(static_cast<int>(operation)); }

// gradient * (input * weight + second + bias)
const Numbers everyLeaf{numberOf(Operation::input),    0, 0, 0, 0, numberOf(Operation::weight), 1, 0, 0, 0,
                        numberOf(Operation::mul),      0, 0, 1, 0, numberOf(Operation::second), 1, 0, 0, 0,
                        numberOf(Operation::add),      0, 0, 1, 0, numberOf(Operation::bias),   1, 0, 0, 0,
                        numberOf(Operation::add),      0, 0, 1, 0, numberOf(Operation::gradient), 1, 0, 0, 0,
                        numberOf(Operation::mul),      0, 0, 1, 0};

}  // namespace

std::vector<Kernel> largeKernels() {
  using k = KernelKind;
  std::vector<Kernel> kernels{{k::sumSquares, {100001}},
                              {k::clipGradient, {50001, 0.5}},
                              {k::sgd, {50003, 1, 0.01, 0.9}},
                              {k::adam, {50003, 1, 0.01, 0.9, 0.999, 1e-8, 1}},
                              {k::zero, {100001}},
                              {k::globalAveragePoolForward, {2, 3, 150, 155, 0, 0.5}},
                              {k::globalAveragePoolForward, {1, 70, 60, 61, 0, 0.5}},
                              {k::globalAveragePoolForward, {1, 2000, 2, 2, 0, 0.5}},
                              {k::meanSquaredErrorForward, {1, 3, 100, 110, 0, 50000, 15000, 120, 77}},
                              {k::softmaxCrossEntropyForward, {70, 1000, 80}},
                              {k::softmaxCrossEntropyBackward, {150, 333, 150}},
                              {k::reorderActivation, {2, 70, 9, 37, 0, 0}},
                              {k::packTile, {2, 40, 9, 37, 0, 20000, 400, 40}},
                              {k::packTile, {2, 40, 9, 37, 0, 20000, 400, 37}},
                              {k::unpackAddTile, {2, 40, 9, 37, 0, 20000, 400, 40}}};
  for (const k kind : {k::resizeForward, k::resizeBackward}) {
    kernels.push_back({kind, {1, 21, 33, 20, 257, 160, 0, 33, 20, 257, 160, 1, 0}});
    kernels.push_back({kind, {1, 40, 90, 81, 30, 33, 0, 90, 81, 30, 33, 1, 1}});
    kernels.push_back({kind, {2, 5, 40, 33, 77, 66, 0, 40, 33, 77, 66, 0, 0}});
  }
  for (const k kind : {k::adaptivePoolForward, k::adaptivePoolBackward}) {
    kernels.push_back({kind, {1, 70, 150, 155, 1, 1, 0, 150, 155, 1, 1}});
    kernels.push_back({kind, {1, 20, 61, 64, 7, 6, 0, 61, 64, 7, 6}});
    kernels.push_back({kind, {2, 9, 130, 151, 7, 6, 0, 130, 151, 7, 6}});
  }
  // Few sources, each of which many outputs read.
  for (const auto& [bilinear, alignCorners] : std::vector<std::pair<double, double>>{{0, 0}, {1, 0}, {1, 1}}) {
    for (const double channels : {2, 3, 12, 21}) {
      kernels.push_back({k::resizeBackward, {2, channels, 1, 1, 50, 61, 0, 1, 1, 51, 62, bilinear, alignCorners}});
      kernels.push_back({k::resizeBackward, {1, channels, 2, 1, 121, 60, 0, 2, 2, 121, 121, bilinear, alignCorners}});
      kernels.push_back({k::resizeBackward, {2, channels, 5, 6, 67, 90, 0, 6, 6, 67, 91, bilinear, alignCorners}});
    }
  }
  for (const double channels : {3, 12}) kernels.push_back({k::adaptivePoolBackward, {2, channels, 2, 3, 70, 161, 0, 2, 3, 70, 161}});
  for (const double mode : {0, 1, 2}) {
    kernels.push_back({k::padForward, {2, 70, 41, 60, 61, 77, 0, 41, 60, 61, 77, 9, 11, mode}});
    kernels.push_back({k::padBackward, {2, 70, 41, 60, 61, 77, 0, 41, 60, 61, 77, 9, 11, mode}});
  }
  for (const double inverse : {0, 1}) {
    kernels.push_back({k::pixelShuffle, {2, 20, 81, 97, 41, 49, 2, 1, 1, 0, 0, inverse}});
    kernels.push_back({k::pixelShuffle, {1, 3, 60, 63, 20, 21, 3, 0, 0, 0, 0, inverse}});
  }
  kernels.push_back({k::shiftChannels, {2, 35, 60, 61, 0, 0, 70, 20}});
  kernels.push_back({k::shiftChannels, {2, 70, 60, 61, 0, 0, 35, -20}});
  for (const double groups : {2, 35}) kernels.push_back({k::channelShuffle, {2, 70, 60, 61, 0, groups}});
  for (const k kind : {k::globalMaxPoolForward, k::globalMaxPoolBackward}) {
    kernels.push_back({kind, {2, 3, 150, 155, 0, 200, 160}});
    kernels.push_back({kind, {1, 70, 60, 61, 0, 61, 61}});
    kernels.push_back({kind, {1, 2000, 2, 2, 0, 2, 3}});
  }
  kernels.push_back({k::addBias, {2, 70, 60, 61, 0}});
  kernels.push_back({k::sumBias, {2, 70, 160, 161, 0}});
  for (const k kind : {k::pixelCrossEntropyForward, k::pixelCrossEntropyBackward}) {
    kernels.push_back({kind, {2, 21, 60, 77, 0, 100, 80, 255}});
    kernels.push_back({kind, {1, 300, 20, 11, 0, 20, 11, 7}});
  }
  for (const double softmax : {0, 1}) {
    const Numbers scores{2, 21, 60, 77, 0, 100, 80, 255, softmax}, many{1, 300, 20, 11, 0, 20, 11, 7, softmax};
    kernels.push_back({k::sumOverlaps, scores});
    for (const Numbers& fields : {scores, many}) {
      kernels.push_back(withExpression(k::classLossForward, fields, everyLeaf));
      Numbers backward = fields;
      for (const double field : {0.3, 0.7, 1.0, 0.5}) backward.push_back(field);
      kernels.push_back(withExpression(k::classLossBackward, backward, everyLeaf));
    }
  }
  kernels.push_back({k::overlapLoss, {70, 90, 0.3, 0.7, 1, 0.5}});
  for (const k kind : {k::valueLossForward, k::valueLossBackward})
    kernels.push_back(withExpression(kind, {1, 3, 100, 110, 0, 50000, 15000, 120}, everyLeaf));
  kernels.push_back({k::argmaxChannels, {2, 150, 60, 77, 0, 61, 90}});
  // Rows apart, rows in whole vectors, rows that follow each other on one side and on both.
  for (const double add : {0, 1}) {
    kernels.push_back({k::copyBox, {2, 3, 4, 300, 5000, 1500, 310, 6000, 1600, 305, add, 0}});
    kernels.push_back({k::copyBox, {2, 3, 4, 300, 5000, 1504, 308, 6000, 1600, 304, add, 0}});
    kernels.push_back({k::copyBox, {2, 3, 4, 300, 5000, 1200, 300, 6000, 1500, 310, add, 0}});
    kernels.push_back({k::copyBox, {2, 3, 4, 300, 3600, 1200, 300, 3600, 1200, 300, add, 0}});
  }
  // Boxes that are added to one place.
  for (const double stride : {1201, 1204}) kernels.push_back({k::copyBox, {5, 1, 4, 300, stride, 1200, 300, 0, 1240, 310, 1, 1}});
  for (const double channels : {24, 64}) {
    kernels.push_back({k::momentsForward, {2, channels, 110, 93, 0, channels, 0}});
    kernels.push_back({k::momentsForward, {2, channels, 110, 93, 0, 8, 1}});
    kernels.push_back({k::normaliseForward, {2, channels, 110, 93, 0, 8, 1, 1e-5, 0}});
    kernels.push_back({k::normaliseBackwardReduce, {2, channels, 110, 93, 0, channels, 0, 1e-5, 0}});
    kernels.push_back({k::normaliseBackward, {2, channels, 110, 93, 0, channels, 0, 1e-5, 0, 0}});
    kernels.push_back(withExpression(k::pointwiseBackward, {2, channels, 110, 93, 0, 0, 0, 0}, coded(SiluBackward::code)));
    for (const double rows : {0, 1, 2})
      for (const double flag : {0, 1})
        kernels.push_back(withExpression(k::pointwiseSum, {2, channels, 110, 93, 0, flag, flag, 1 - flag, rows}, everyLeaf));
    kernels.push_back({k::copyChannels, {2, 55, 61, channels, 100, 16, 0, 160, 96, 0, 0}});
    kernels.push_back({k::copyChannels, {2, 55, 61, channels, 100, 3, 0, 160, 20, 0, 1}});
  }
  // Of stride 1, so that they run with rotated weights too: padding alike, apart, more than the
  // window reaches; dilation; groups.
  for (int algorithm = 0; algorithm < 6; ++algorithm) {
    kernels.push_back({k::convolutionBackwardData, {2, 6, 9, 8, 9, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 5, 1, 0, 0, 0, 0}});
    kernels.push_back({k::convolutionBackwardData, {1, 4, 7, 8, 7, 7, 3, 2, 1, 1, 1, 1, 0, 2, 0, 0, 6, 2, 0, 0, 0, 0}});
    kernels.push_back({k::convolutionBackwardData, {1, 3, 5, 6, 8, 9, 1, 2, 1, 1, 1, 1, 1, 2, 3, 1, 2, 1, 0, 0, 0, 0}});
    kernels.push_back({k::convolutionBackwardData, {1, 3, 9, 9, 7, 8, 3, 3, 1, 1, 2, 2, 2, 0, 1, 2, 4, 1, 0, 0, 0, 0}});
  }
  // Over few channels, by an algorithm of their own too: a tile at an image's corner, strides.
  for (int algorithm = 0; algorithm < 6; ++algorithm) {
    kernels.push_back({k::convolutionBackwardWeights, {2, 3, 11, 13, 10, 13, 3, 3, 1, 1, 1, 1, 1, 0, 1, 1, 72, 1, 0, 0, 0, 0}});
    kernels.push_back({k::convolutionBackwardWeights, {1, 4, 46, 41, 22, 20, 3, 3, 2, 2, 1, 1, 0, 0, 0, 0, 64, 1, 0, 0, 0, 0}});
  }
  // More channels than a block takes, planes that end within packs of elements, and one pixel of
  // many channels.
  for (const double groups : {300, 100}) {
    kernels.push_back({k::momentsForward, {3, 300, 13, 17, 0, groups, 0}});
    kernels.push_back({k::normaliseForward, {3, 300, 13, 17, 0, groups, 0, 1e-5, 0}});
    kernels.push_back({k::normaliseBackwardReduce, {3, 300, 13, 17, 0, groups, 1, 1e-5, 0.5}});
    kernels.push_back({k::normaliseBackward, {3, 300, 13, 17, 0, groups, 1, 1e-5, 0.5, 1}});
  }
  kernels.push_back({k::momentsForward, {70, 515, 1, 1, 0, 515, 0}});
  kernels.push_back({k::normaliseForward, {70, 515, 1, 1, 0, 515, 0, 1e-5, 1}});
  kernels.push_back({k::addForward, {100001, 0}});
  for (const k kind : {k::maxPoolForward, k::maxPoolBackward}) {
    for (const double channels : {3, 8}) {
      kernels.push_back({kind, {2, channels, 12, 16, 6, 8, 2, 2, 2, 2, 1, 1, 0, 0, 0, 0, 0}});
      kernels.push_back({kind, {2, channels, 12, 14, 6, 7, 2, 2, 2, 2, 1, 1, 0, 0, 0, 0, 0}});
      kernels.push_back({kind, {2, channels, 13, 15, 7, 8, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 0}});
    }
  }
  return kernels;
}

}  // namespace tilefold::test
