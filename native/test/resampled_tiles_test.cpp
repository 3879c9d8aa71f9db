#include <cmath>
#include <cstdio>
#include <cstring>

#include "buffers.hpp"
#include "launch.hpp"
#include "reference/block_loop.hpp"
#include "kernels/resampling.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

struct Range {
  std::int64_t from, to;
  std::int64_t extent() const { return to - from; }
};

Range someOf(Random& random, std::int64_t extent) {
  const std::int64_t from = number(random, 0, extent - 1);
  return {from, number(random, from + 1, extent)};
}

struct Box {
  Range rows, columns;
};

// What a resampling is of; both tensors whole.
struct Case {
  std::int64_t batch, channels, inHeight, inWidth, outHeight, outWidth;
  Layout layout;
  Resampling kind;

  Box input() const { return {{0, inHeight}, {0, inWidth}}; }
  Box output() const { return {{0, outHeight}, {0, outWidth}}; }
  // Inputs that an output is made of, by the rule for the whole axis.
  Reading rowReading(std::int64_t output) const { return ResampledAxis{kind, inHeight, outHeight, 0, 0, 0, 0}.reading(output); }
  Reading columnReading(std::int64_t output) const { return ResampledAxis{kind, inWidth, outWidth, 0, 0, 0, 0}.reading(output); }

  Kernel kernel(bool forward, const Box& in, const Box& out) const {
    Kernel result{kind == Resampling::adaptive ? (forward ? KernelKind::adaptivePoolForward : KernelKind::adaptivePoolBackward)
                                               : (forward ? KernelKind::resizeForward : KernelKind::resizeBackward),
                  {}};
    for (const std::int64_t field : {batch, channels, in.rows.extent(), in.columns.extent(), out.rows.extent(), out.columns.extent(),
                                     static_cast<std::int64_t>(layout), inHeight, inWidth, outHeight, outWidth})
      result.fields.push_back(static_cast<double>(field));
    if (kind != Resampling::adaptive) {
      result.fields.push_back(kind == Resampling::nearest ? 0 : 1);
      result.fields.push_back(kind == Resampling::alignedCorners ? 1 : 0);
    }
    return result;
  }
};

// Blocks of channels are for processors.
Layout someLayout(Device& device, Random& random) {
  if (device.properties()) return number(random, 0, 1) == 0 ? Layout::plain : Layout::nhwc;
  return static_cast<Layout>(number(random, 0, 2));
}

Case randomCase(Device& device, Random& random) {
  // Now and then few inputs, of which a device may share out the many outputs of each.
  const bool isFew = number(random, 0, 4) == 0;
  const auto in = [&] { return number(random, 1, isFew ? 3 : 14); };
  const auto out = [&] { return isFew ? number(random, 20, 70) : number(random, 1, 14); };
  return {number(random, 1, 2),
          number(random, 1, 20),
          in(),
          in(),
          out(),
          out(),
          someLayout(device, random),
          static_cast<Resampling>(number(random, 0, 3))};
}

// The first and last coordinate of `count` that `touches` says yes to.
template <class Touches>
Range spanOf(std::int64_t count, const Touches& touches) {
  Range span{count, 0};
  for (std::int64_t i = 0; i < count; ++i)
    if (touches(i)) span = {std::min(span.from, i), i + 1};
  return span;
}

template <class ReadingOf>
Range readBy(const Range& outputs, const ReadingOf& readingOf) {
  return {readingOf(outputs.from).from, readingOf(outputs.to - 1).to};
}

template <class ReadingOf>
Range readersOf(const Range& inputs, std::int64_t outputs, const ReadingOf& readingOf) {
  return spanOf(outputs, [&](std::int64_t o) {
    const Reading r = readingOf(o);
    return r.from < inputs.to && r.to > inputs.from;
  });
}

// Visits the offsets of a box in a tensor of `rows` x `columns` from `corner` on, and in the box by
// itself.
template <class Visit>
void visit(const Case& c, const Box& whole, const Box& box, const Visit& visitor) {
  const reference::Planes planes(c.layout, c.batch, c.channels);
  for (std::int64_t plane = 0; plane < planes.count; ++plane)
    for (std::int64_t y = box.rows.from; y < box.rows.to; ++y)
      for (std::int64_t x = box.columns.from; x < box.columns.to; ++x)
        for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane) {
          const auto at = [&](const Box& b) {
            const std::int64_t row = plane * b.rows.extent() + y - b.rows.from;
            return static_cast<std::size_t>((row * b.columns.extent() + x - b.columns.from) * planes.block + lane);
          };
          visitor(at(whole), at(box));
        }
}

class Tiles {
 public:
  Tiles(Device& device, Random& random) : device_(device), random_(random) {}

  void run(const Case& c) {
    const Block x = random(c, c.input()), dy = random(c, c.output());
    const Block y = launch(c, true, c.input(), c.output(), x), dx = launch(c, false, c.input(), c.output(), dy);
    const auto rowReading = [&](std::int64_t o) { return c.rowReading(o); };
    const auto columnReading = [&](std::int64_t o) { return c.columnReading(o); };

    const Box out{someOf(random_, c.outHeight), someOf(random_, c.outWidth)};
    const Box needed{readBy(out.rows, rowReading), readBy(out.columns, columnReading)};
    const Box in{wider(needed.rows, c.inHeight), wider(needed.columns, c.inWidth)};
    same("destination", c, c.output(), out, y, launch(c, true, in, out, cut(c, c.input(), in, x)));
    if (needed.rows.extent() > 1) refuse(c, {{needed.rows.from + 1, needed.rows.to}, needed.columns}, out);

    const Box written{someOf(random_, c.inHeight), someOf(random_, c.inWidth)};
    const Box readers{readersOf(written.rows, c.outHeight, rowReading), readersOf(written.columns, c.outWidth, columnReading)};
    if (readers.rows.extent() > 0 && readers.columns.extent() > 0)
      same("sourceGradient", c, c.input(), written, dx, launch(c, false, written, readers, cut(c, c.output(), readers, dy)));
    parts(c, dy, dx);
  }

 private:
  Range wider(const Range& range, std::int64_t extent) { return {number(random_, 0, range.from), number(random_, range.to, extent)}; }

  std::size_t bytes(const Case& c, const Box& box) const {
    return static_cast<std::size_t>(activationElements(c.layout, c.batch, c.channels, box.rows.extent(), box.columns.extent())) *
           sizeof(float);
  }

  Block random(const Case& c, const Box& box) {
    Block all(bytes(c, box)), result(all.bytes());
    fillFloats(all, random_);
    visit(c, box, box, [&](std::size_t at, std::size_t) { result.floats()[at] = all.floats()[at]; });
    return result;
  }

  Block cut(const Case& c, const Box& whole, const Box& box, const Block& from) const {
    Block result(bytes(c, box));
    visit(c, whole, box, [&](std::size_t there, std::size_t here) { result.floats()[here] = from.floats()[there]; });
    return result;
  }

  Block launch(const Case& c, bool forward, const Box& in, const Box& out, const Block& read) {
    const Kernel kernel = c.kernel(forward, in, out);
    Operands operands = allocate(kernel, device_, true);
    std::memcpy(operands.blocks[0].data(), read.data(), read.bytes());
    operands.operands[2].index = in.rows.from;
    operands.operands[3].index = in.columns.from;
    operands.operands[4].index = out.rows.from;
    operands.operands[5].index = out.columns.from;
    test::launch(kernel, device_, operands.operands, {});
    return std::move(operands.blocks[1]);
  }

  void refuse(const Case& c, const Box& in, const Box& out) {
    try {
      launch(c, true, in, out, Block(bytes(c, in)));
    } catch (const Failure&) {
      return;
    }
    throw Failure("an output was made of inputs beside its tile");
  }

  void same(const char* what, const Case& c, const Box& whole, const Box& box, const Block& expected, const Block& found) const {
    visit(c, whole, box, [&](std::size_t there, std::size_t here) {
      if (std::memcmp(expected.floats() + there, found.floats() + here, sizeof(float)) != 0)
        throw Failure(std::string(what) + " of a tile is not the whole's");
    });
  }

  // What two parts of the outputs give to the inputs adds up to what all give.
  void parts(const Case& c, const Block& dy, const Block& dx) {
    if (c.outHeight < 2) return;
    const std::int64_t cutAt = number(random_, 1, c.outHeight - 1);
    std::vector<float> sum(dx.floatCount());
    for (const Range rows : {Range{0, cutAt}, Range{cutAt, c.outHeight}}) {
      const Box out{rows, {0, c.outWidth}};
      const Block part = launch(c, false, c.input(), out, cut(c, c.output(), out, dy));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part.floats()[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (!(std::fabs(sum[i] - dx.floats()[i]) <= 2e-5F)) throw Failure("the parts of sourceGradient do not add up");
  }

  Device& device_;
  Random& random_;
};

}  // namespace

int checkResampledTiles(const std::string& name, Device& device, int rounds) {
  Random random(2);
  Tiles tiles(device, random);
  int failures = 0;
  for (int round = 0; round < rounds; ++round) {
    const Case c = randomCase(device, random);
    try {
      tiles.run(c);
    } catch (const Failure& failure) {
      ++failures;
      std::printf("%s, resampling %d from %dx%d to %dx%d: %s\n", name.c_str(), static_cast<int>(c.kind), static_cast<int>(c.inHeight),
                  static_cast<int>(c.inWidth), static_cast<int>(c.outHeight), static_cast<int>(c.outWidth), failure.what());
    }
  }
  std::printf("%s: %d resampled tensors in tiles, %d failures\n", name.c_str(), rounds, failures);
  return failures;
}

}  // namespace tilefold::test
