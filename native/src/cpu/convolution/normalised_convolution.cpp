#include "normalised_convolution.hpp"

#include <cstring>
#include <map>
#include <set>

#include "../../kernels/normalisation.hpp"
#include "../../kernels/normalised_convolution.hpp"
#include "../amx/convolution.hpp"
#include "../normalisation/loops.hpp"
#include "../pointwise/bias.hpp"
#include "../processor/parallel.hpp"
#include "direct.hpp"

namespace tilefold::cpu {
namespace {

// What is normalised at once should stay in a core's second cache: all channels of a strip, or some
// after others of a longer one, to whose weights' gradients little is then added.
struct StripSize {
  std::int64_t bytes, most;
};
constexpr StripSize forwardSize{1024 * 1024, 2048}, gradientSize{512 * 1024, 2048};  // most: bytes of a channel
constexpr std::int64_t leastPixels = 64, smallImage = 4096;                          // bytes of a channel of an image
constexpr std::int64_t alignment = 64;

// Channels and pixels of a strip.
struct StripShape {
  std::int64_t channels, pixels;
  bool operator<(const StripShape& other) const { return channels != other.channels ? channels < other.channels : pixels < other.pixels; }
};

// Blocks of channels [first, first + count).
struct BlockRange {
  std::int64_t first, count;
};

// Images cut into strips of nearly one size: how many, and how the work is shared among threads.
template <class T>
class Strips {
 public:
  Strips(KernelKind kind, const NormalisedConvolution& c, int threads)
      : kind_(kind),
        c_(c),
        block_(channelBlock(c.layout)),
        inBlocks_(roundUp(c.channels, block_) / block_),
        outBlocks_(roundUp(c.outChannels, block_) / block_),
        pixels_(c.height * c.width) {
    const LayoutInfo& weights = layoutInfo(c.weightLayout);
    if (block_ == 1 || weights.in % block_ != 0 || weights.out != block_)
      throw Failure(std::string("the cpu device normalises on load in blocks of channels only, not in ") + layoutInfo(c.layout).name +
                    " and " + weights.name);
    // A gradient's channels are shared first: each thread then sums its own.
    channelParts_ = isForward() ? 1 : std::min<std::int64_t>(threads, inBlocks_);
    pixelParts_ = std::max<std::int64_t>(1, threads / channelParts_);
    const StripSize& size = isForward() ? forwardSize : gradientSize;
    const auto width = static_cast<std::int64_t>(sizeof(T));
    // Of small images nothing is added, and all lie together as a strip does.
    const bool isSmall = !isForward() && pixels_ * width <= smallImage;
    const std::int64_t longest = isSmall ? pixels_ : size.most / width;
    const std::int64_t fitting = size.bytes / ((isForward() ? inBlocks_ : 1) * block_ * width);
    const std::int64_t most = std::clamp(fitting, std::min(leastPixels, longest), longest);
    const std::int64_t forAll = (pixelParts_ + c.batch - 1) / c.batch;
    perImage_ = std::min(pixels_, std::max((pixels_ + most - 1) / most, forAll));
    atOnce_ = isForward() ? inBlocks_ : std::max<std::int64_t>(1, size.bytes / (largestPixels() * block_ * width));
  }

  bool isForward() const { return kind_ == KernelKind::normalisedConvolutionForward; }
  const NormalisedConvolution& fields() const { return c_; }
  std::int64_t block() const { return block_; }
  std::int64_t inBlocks() const { return inBlocks_; }
  std::int64_t outBlocks() const { return outBlocks_; }
  std::int64_t pixels() const { return pixels_; }
  std::int64_t jobs() const { return channelParts_ * pixelParts_; }
  std::int64_t pixelParts() const { return pixelParts_; }
  std::int64_t largestBlocks() const { return (inBlocks_ + channelParts_ - 1) / channelParts_; }
  std::int64_t mostAtOnce() const { return std::min(atOnce_, largestBlocks()); }
  // Whether each weight's gradient is that of one strip.
  bool addsNothing() const { return c_.batch * perImage_ == 1; }
  std::int64_t largestPixels() const { return (pixels_ + perImage_ - 1) / perImage_; }

  BlockRange blocksOf(std::int64_t job) const {
    const Share share = shareOf(inBlocks_, job / pixelParts_, channelParts_);
    return {share.begin, share.end - share.begin};
  }
  // visit(image, first pixel, pixels) over a job's strips.
  template <class Visit>
  void forStrips(std::int64_t job, const Visit& visit) const {
    const Share share = shareOf(c_.batch * perImage_, job % pixelParts_, pixelParts_);
    for (std::int64_t strip = share.begin; strip < share.end; ++strip) {
      const Share part = shareOf(pixels_, strip % perImage_, perImage_);
      visit(strip / perImage_, part.begin, part.end - part.begin);
    }
  }
  // visit(blocks) over those of a job that are normalised at once.
  template <class Visit>
  void forChunks(std::int64_t job, const Visit& visit) const {
    const BlockRange all = blocksOf(job);
    const std::int64_t chunks = (all.count + atOnce_ - 1) / atOnce_;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const Share share = shareOf(all.count, chunk, chunks);
      visit(BlockRange{all.first + share.begin, share.end - share.begin});
    }
  }
  std::set<StripShape> shapesOf(std::int64_t job) const {
    std::set<StripShape> shapes;
    forChunks(job, [&](const BlockRange& blocks) {
      const std::int64_t channels = blocks.count * block_, largest = largestPixels();
      shapes.insert({channels, largest});
      if (pixels_ % perImage_ != 0) shapes.insert({channels, largest - 1});
    });
    return shapes;
  }

 private:
  KernelKind kind_;
  NormalisedConvolution c_;
  std::int64_t block_, inBlocks_, outBlocks_, pixels_, channelParts_, pixelParts_, perImage_, atOnce_;
};

// Runs `body` as a thread of a team will run what it compiles: alone.
template <class Body>
auto onOneThread(int threads, const Body& body) -> decltype(body()) {
  struct Alone {
    explicit Alone(int threads) : before(threads) { omp_set_num_threads(1); }
    ~Alone() { omp_set_num_threads(before); }
    int before;
  };
  const Alone alone(threads);
  return body();
}

// A convolution of a strip, by one thread.
struct StripConvolution {
  std::size_t scratchBytes;
  std::string name;
  std::function<Launch()> compile;
};

template <class T>
StripConvolution findConvolution(const Strips<T>& strips, KernelKind kind, const StripShape& shape) {
  const auto c = decode<Convolution>(convolutionOf(kind, strips.fields(), {1, shape.channels, 1, shape.pixels}));
  const KernelKind own = convolutionKind(kind);
  if (std::is_same_v<T, Bfloat16> && fitsAmx(own, c, 1)) return {amxScratchBytes(own, c, 1), "amx", [=] { return compileAmx(own, c, 1); }};
  const std::optional<Recipe> recipe = findDirectConvolution<T>(own, c);
  if (!recipe) throw Failure("the cpu device has no convolution that normalises " + std::to_string(shape.channels) + " channels on load");
  return {recipe->scratchBytes(), recipe->name(), [=] { return compileDirectConvolution<T>(own, c, *recipe); }};
}

// Where a job's parts lie in its share of the scratch.
struct ScratchLayout {
  std::int64_t normalised = 0, other = 0, weights = 0, sums = 0, primitive = 0, bytes = 0;

  template <class T>
  ScratchLayout(const Strips<T>& strips, std::size_t primitiveBytes) {
    const auto take = [&](std::int64_t size) {
      const std::int64_t at = bytes;
      bytes = checkedAdd(bytes, roundUp(size, alignment));
      return at;
    };
    const auto width = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t strip = checkedMultiply(strips.largestPixels() * strips.block(), width);
    normalised = take(checkedMultiply(strip, strips.mostAtOnce()));
    other = take(checkedMultiply(strip, strips.outBlocks()));
    if (!strips.isForward()) {
      const std::int64_t row = checkedMultiply(strips.block() * strips.block(), strips.outBlocks());
      weights = take(checkedMultiply(checkedMultiply(row, strips.mostAtOnce()), sizeof(float)));
      if (!strips.addsNothing()) sums = take(checkedMultiply(checkedMultiply(row, strips.largestBlocks()), sizeof(double)));
    }
    primitive = take(static_cast<std::int64_t>(primitiveBytes));
  }
};

template <class T>
ScratchLayout scratchOf(const Strips<T>& strips, KernelKind kind, int threads) {
  return onOneThread(threads, [&] {
    std::size_t most = 0;
    for (std::int64_t job = 0; job < strips.jobs(); ++job)
      for (const StripShape& shape : strips.shapesOf(job)) most = std::max(most, findConvolution<T>(strips, kind, shape).scratchBytes);
    return ScratchLayout(strips, most);
  });
}

// By job, since a primitive is launched by one thread at a time.
using JobLaunches = std::vector<std::map<StripShape, Launch>>;

template <class T>
JobLaunches compileJobs(const Strips<T>& strips, KernelKind kind, int threads, std::string& name) {
  return onOneThread(threads, [&] {
    JobLaunches launches(static_cast<std::size_t>(strips.jobs()));
    for (std::int64_t job = 0; job < strips.jobs(); ++job)
      for (const StripShape& shape : strips.shapesOf(job)) {
        const StripConvolution found = findConvolution<T>(strips, kind, shape);
        name = found.name + " in strips";
        launches[static_cast<std::size_t>(job)].emplace(shape, found.compile());
      }
    return launches;
  });
}

// One block of lanes, by every image where each is normalised by itself.
template <class T>
class BlockNormalisers {
 public:
  BlockNormalisers(const Strips<T>& strips, const Normalise& n, const std::vector<Operand>& operands)
      : blocks_(strips.inBlocks()), images_(n.perImage ? n.batch : 1) {
    const NormaliseOperands<T> from{elements<const T>(operands, 0), elements<const Moments>(operands, 1),
                                    elements<const float>(operands, 2), elements<const float>(operands, 3), nullptr};
    all_.resize(static_cast<std::size_t>(images_ * blocks_));
    for (std::int64_t image = 0; image < images_; ++image)
      for (std::int64_t channel = 0; channel < n.channels; ++channel) {
        LaneNormalisers& lanes = all_[static_cast<std::size_t>(image * blocks_ + channel / strips.block())];
        const Normaliser<float> own = from.normaliser(n, image, channel);
        const std::int64_t lane = channel % strips.block();
        lanes.slope = static_cast<float>(n.slope);
        lanes.mean[lane] = own.mean;
        lanes.scale[lane] = own.scale;
        lanes.shift[lane] = own.shift;
      }
  }
  const LaneNormalisers& of(std::int64_t image, std::int64_t block) const {
    return all_[static_cast<std::size_t>((images_ == 1 ? 0 : image) * blocks_ + block)];
  }

 private:
  std::int64_t blocks_, images_;
  std::vector<LaneNormalisers> all_;
};

// A strip of the source, normalised, as a dense tile.
template <class T>
void normaliseStrip(const Strips<T>& strips, const BlockNormalisers<T>& normalisers, const BlockRange& blocks, std::int64_t image,
                    std::int64_t first, std::int64_t pixels, const T* source, T* to) {
  const std::int64_t block = strips.block();
  for (std::int64_t b = 0; b < blocks.count; ++b) {
    const std::int64_t plane = image * strips.inBlocks() + blocks.first + b;
    normalise(Strip{pixels, block, block}, normalisers.of(image, blocks.first + b), source + (plane * strips.pixels() + first) * block,
              to + b * pixels * block);
  }
}

// Copies a strip of the blocks of a whole tile of results, or to them.
enum class Towards { strip, whole };
template <class T>
void copyStrip(const Strips<T>& strips, Towards towards, std::int64_t image, std::int64_t first, std::int64_t pixels, T* whole, T* strip) {
  const std::int64_t row = pixels * strips.block();
  for (std::int64_t b = 0; b < strips.outBlocks(); ++b) {
    T* const there = whole + ((image * strips.outBlocks() + b) * strips.pixels() + first) * strips.block();
    T* const here = strip + b * row;
    std::memcpy(towards == Towards::strip ? here : there, towards == Towards::strip ? there : here,
                static_cast<std::size_t>(row) * sizeof(T));
  }
}

Operand operandAt(std::byte* address) { return {address, 0}; }

template <class T>
Launch compileForward(const Strips<T>& strips, const Normalise& n, const ScratchLayout& layout, const JobLaunches& launches) {
  return [=](const std::vector<Operand>& operands, const StepParameters& step) {
    const BlockNormalisers<T> normalisers(strips, n, operands);
    const T* source = elements<const T>(operands, 0);
    T* destination = elements<T>(operands, 6);
    parallelFor(strips.jobs(), [&](std::int64_t job) {
      std::byte* const scratch = operands[7].address + job * layout.bytes;
      const Operand normalised = operandAt(scratch + layout.normalised), result = operandAt(scratch + layout.other);
      strips.forStrips(job, [&](std::int64_t image, std::int64_t first, std::int64_t pixels) {
        normaliseStrip(strips, normalisers, {0, strips.inBlocks()}, image, first, pixels, source, reinterpret_cast<T*>(normalised.address));
        launches[static_cast<std::size_t>(job)].at({strips.inBlocks() * strips.block(), pixels})(
            {normalised, operands[4], operands[5], result, operandAt(scratch + layout.primitive)}, step);
        copyStrip(strips, Towards::whole, image, first, pixels, destination, reinterpret_cast<T*>(result.address));
      });
    });
  };
}

// Rows of blocks of weights [out][in] of a strip's gradient, of `blocks` of a job's: where they lie
// among `all` that the whole has.
template <class T, class Take>
void forRows(const Strips<T>& strips, const BlockRange& blocks, const BlockRange& all, const float* own, const Take& take) {
  const std::int64_t area = strips.block() * strips.block();
  for (std::int64_t out = 0; out < strips.outBlocks(); ++out)
    take(own + out * blocks.count * area, (out * all.count + blocks.first - all.first) * area, blocks.count * area);
}

// Strips are summed in double: of a large image there are thousands.
template <class T>
Launch compileBackwardWeights(const Strips<T>& strips, const Normalise& n, const ScratchLayout& layout, const JobLaunches& launches) {
  const std::int64_t block = strips.block(), area = block * block;
  const NormalisedConvolution& c = strips.fields();
  Tile results = c;
  results.channels = c.outChannels;
  const Launch biasGradient = sumBias<T>(results);
  return [=](const std::vector<Operand>& operands, const StepParameters& step) {
    const BlockNormalisers<T> normalisers(strips, n, operands);
    const T* source = elements<const T>(operands, 0);
    T* gradient = elements<T>(operands, 4);
    float* weightGradient = elements(operands, 5);
    const auto sumsOf = [&](std::int64_t job) { return reinterpret_cast<double*>(operands[7].address + job * layout.bytes + layout.sums); };
    parallelFor(strips.jobs(), [&](std::int64_t job) {
      std::byte* const scratch = operands[7].address + job * layout.bytes;
      const BlockRange all = strips.blocksOf(job);
      const Operand normalised = operandAt(scratch + layout.normalised), copied = operandAt(scratch + layout.other);
      const Operand weights = operandAt(scratch + layout.weights);
      double* const sums = sumsOf(job);
      if (!strips.addsNothing()) std::fill_n(sums, all.count * strips.outBlocks() * area, 0.0);
      strips.forStrips(job, [&](std::int64_t image, std::int64_t first, std::int64_t pixels) {
        // All pixels of an image lie together as a strip does.
        const bool isWhole = pixels == strips.pixels();
        if (!isWhole) copyStrip(strips, Towards::strip, image, first, pixels, gradient, reinterpret_cast<T*>(copied.address));
        const std::int64_t images = image * strips.outBlocks() * strips.pixels() * block;
        const Operand received = isWhole ? operandAt(reinterpret_cast<std::byte*>(gradient + images)) : copied;
        strips.forChunks(job, [&](const BlockRange& blocks) {
          normaliseStrip(strips, normalisers, blocks, image, first, pixels, source, reinterpret_cast<T*>(normalised.address));
          launches[static_cast<std::size_t>(job)].at({blocks.count * block, pixels})(
              {normalised, received, weights, Operand{}, operandAt(scratch + layout.primitive)}, step);
          const auto* own = reinterpret_cast<const float*>(weights.address);
          if (strips.addsNothing())
            forRows(strips, blocks, {0, strips.inBlocks()}, own,
                    [&](const float* row, std::int64_t at, std::int64_t count) { std::copy_n(row, count, weightGradient + at); });
          else
            forRows(strips, blocks, all, own, [&](const float* row, std::int64_t at, std::int64_t count) {
              for (std::int64_t i = 0; i < count; ++i) sums[at + i] += static_cast<double>(row[i]);
            });
        });
      });
    });
    // Of each row of blocks of the weights, the parts of the jobs that share its columns.
    if (!strips.addsNothing())
      parallelFor(strips.outBlocks(), [&](std::int64_t out) {
        for (std::int64_t first = 0; first < strips.jobs(); first += strips.pixelParts()) {
          const BlockRange blocks = strips.blocksOf(first);
          float* const row = weightGradient + (out * strips.inBlocks() + blocks.first) * area;
          for (std::int64_t i = 0; i < blocks.count * area; ++i) {
            double sum = 0;
            for (std::int64_t job = first; job < first + strips.pixelParts(); ++job) sum += sumsOf(job)[out * blocks.count * area + i];
            row[i] = static_cast<float>(sum);
          }
        }
      });
    if (operands[6].address != nullptr) biasGradient({operands[4], operands[6]}, step);
  };
}

}  // namespace

template <class T>
std::size_t normalisedConvolutionScratchBytes(KernelKind kind, const NormalisedConvolution& c, int threads) {
  const Strips<T> strips(kind, c, threads);
  return static_cast<std::size_t>(checkedMultiply(strips.jobs(), scratchOf(strips, kind, threads).bytes));
}

template <class T>
Implementation compileNormalisedConvolution(KernelKind kind, const NormalisedConvolution& c, int threads) {
  const Strips<T> strips(kind, c, threads);
  const ScratchLayout layout = scratchOf(strips, kind, threads);
  std::string name;
  const JobLaunches launches = compileJobs(strips, kind, threads, name);
  const auto n = decode<Normalise>(normalisationOf(c));
  return {strips.isForward() ? compileForward(strips, n, layout, launches) : compileBackwardWeights(strips, n, layout, launches), name};
}

#define TILEFOLD_INSTANTIATE(T)                                                                             \
  template std::size_t normalisedConvolutionScratchBytes<T>(KernelKind, const NormalisedConvolution&, int); \
  template Implementation compileNormalisedConvolution<T>(KernelKind, const NormalisedConvolution&, int);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
