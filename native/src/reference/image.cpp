// Tiles of the step's images, normalised as they are loaded.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "../kernels/kernel_fields.hpp"
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

struct Place {
  std::int64_t row, column;
};

// Where pixel (row, column) of the crop, once flipped and turned, lies in its image: origin + row *
// down + column * right.
struct Crop {
  Crop(const LoadImage& l, const Image& image) {
    std::int64_t height = image.onItsSide() ? l.fullWidth : l.fullHeight, width = image.onItsSide() ? l.fullHeight : l.fullWidth;
    origin = {image.cropTop, image.cropLeft};
    if (image.flipVertical) {
      origin = at(height - 1, 0);
      down = {-down.row, -down.column};
    }
    if (image.flipHorizontal) {
      origin = at(0, width - 1);
      right = {-right.row, -right.column};
    }
    // Turned once, row i is what was the column i before the last, read downwards.
    for (std::int64_t turn = 0; turn < image.quarterTurns; ++turn) {
      origin = at(0, width - 1);
      const Place was = right;
      right = down;
      down = {-was.row, -was.column};
      std::swap(height, width);
    }
  }
  Place at(std::int64_t row, std::int64_t column) const {
    return {origin.row + row * down.row + column * right.row, origin.column + row * down.column + column * right.column};
  }
  // What of the image the crop's rows and columns from there on are.
  ImageWindow window(std::int64_t row, std::int64_t column, std::int64_t height, std::int64_t width) const {
    const Place one = at(row, column), other = at(row + height - 1, column + width - 1);
    return {std::min(one.row, other.row), std::min(one.column, other.column), std::abs(one.row - other.row) + 1,
            std::abs(one.column - other.column) + 1};
  }
  // Which of the crop's rows and columns a part of the image is.
  ImageWindow inCrop(const ImageWindow& part) const {
    const Place one = cropPlace(part.top, part.left), other = cropPlace(part.top + part.height - 1, part.left + part.width - 1);
    return {std::min(one.row, other.row), std::min(one.column, other.column), std::abs(one.row - other.row) + 1,
            std::abs(one.column - other.column) + 1};
  }
  Place origin{}, down{1, 0}, right{0, 1};

 private:
  Place cropPlace(std::int64_t row, std::int64_t column) const {
    const Place from{row - origin.row, column - origin.column};
    return {from.row * down.row + from.column * down.column, from.row * right.row + from.column * right.column};
  }
};

// The channel `c` of a pixel after its colours were mixed, within 0 .. 1.
double mixed(const std::array<double, 12>& colour, const std::uint8_t* pixel, std::size_t c) {
  const double* row = colour.data() + 4 * c;
  const auto part = [&](std::size_t k) { return row[k] * (static_cast<double>(pixel[k]) / 255); };
  return std::clamp(part(0) + part(1) + part(2) + row[3], 0.0, 1.0);
}

// What a tile's rows are read from: the whole image, or a window of it, or one pixel that all of a
// window are.
struct Pixels {
  const std::uint8_t* at(std::int64_t row, std::int64_t column, std::int64_t pixelBytes) const {
    return first + ((row - window.top) * window.width + column - window.left) * pixelBytes;
  }
  const std::uint8_t* first;
  ImageWindow window;
  bool isOne = false;
};

// Whether all pixels of a window are one.
bool isRepeated(const Pixels& pixels, const ImageWindow& window, const std::uint8_t* pixel, std::int64_t pixelBytes) {
  const std::uint8_t* first = pixels.at(window.top, window.left, pixelBytes);
  const auto bytes = static_cast<std::size_t>(pixelBytes), rowBytes = static_cast<std::size_t>(window.width * pixelBytes);
  // Each byte of the first row is the one a pixel before it.
  if (std::memcmp(first, pixel, bytes) != 0 || std::memcmp(first, first + bytes, rowBytes - bytes) != 0) return false;
  for (std::int64_t row = 1; row < window.height; ++row)
    if (std::memcmp(pixels.at(window.top + row, window.left, pixelBytes), first, rowBytes) != 0) return false;
  return true;
}

// Bytes of a file need not be aligned.
template <class Element>
Element elementAt(const std::uint8_t* pixel, std::size_t c) {
  Element element;
  std::memcpy(&element, pixel + c * sizeof(Element), sizeof(Element));
  return element;
}

// destination = (value - mean[c]) / deviation[c] of the tile at `origin` of the cropped, flipped
// and turned images, where value is the pixel; of uint8, pixel / 255, or what the image's colour
// makes of the pixel's three of them, clamped to 0 .. 1.
template <class T>
class ImageTile {
 public:
  ImageTile(const LoadImage& l, const TileOrigin& origin, T* destination)
      : l_(l), origin_(origin), planes_(planesOf(l)), destination_(destination), values_(static_cast<std::size_t>(l.channels)) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(l.channels); ++c)
      for (std::size_t pixel = 0; pixel < 256; ++pixel) values_[c][pixel] = normalised(static_cast<double>(pixel) / 255, c);
  }

  // Stops where the run ends before the pixels are there.
  void load(const std::vector<Image>& images) const {
    for (std::int64_t number = 0; number < l_.batch; ++number) {
      const Image& image = images[static_cast<std::size_t>(origin_.batch + number)];
      if (!forEachWindow(image, [&](const Pixels& pixels, const ImageWindow&, const ImageWindow& part) { loadPart(number, image, pixels, part); }))
        return;
    }
  }

  // As CompiledKernel::loadUnless. What is the tile before so far waits until something differs.
  bool loadUnless(std::optional<PlainTile>& before, const std::vector<Image>& images) const {
    struct Waiting {
      std::int64_t number;
      ImageWindow window, part;
      std::size_t pixel;
    };
    std::vector<Waiting> waiting;
    PlainTile plain{origin_.batch, {}};
    bool isPlain = true, isSame = before && before->firstImage == plain.firstImage;
    const auto imageOf = [&](std::int64_t number) -> const Image& { return images[static_cast<std::size_t>(origin_.batch + number)]; };
    const auto differs = [&] {
      isSame = false;
      for (const Waiting& one : waiting)
        loadPart(one.number, imageOf(one.number), {plain.pixels.data() + one.pixel, one.window, true}, one.part);
      waiting.clear();
    };
    for (std::int64_t number = 0; number < l_.batch; ++number) {
      const Image& image = imageOf(number);
      const auto pixelBytes = static_cast<std::size_t>(image.pixelBytes());
      const std::size_t at = plain.pixels.size();
      const bool finished = forEachWindow(image, [&](const Pixels& pixels, const ImageWindow& window, const ImageWindow& part) {
        const std::uint8_t* first = pixels.at(window.top, window.left, image.pixelBytes());
        if (isPlain && plain.pixels.size() == at) plain.pixels.insert(plain.pixels.end(), first, first + pixelBytes);
        isPlain = isPlain && isRepeated(pixels, window, plain.pixels.data() + at, image.pixelBytes());
        if (isSame && isPlain && std::memcmp(before->pixels.data() + at, plain.pixels.data() + at, pixelBytes) == 0) {
          waiting.push_back({number, window, part, at});
          return;
        }
        if (isSame) differs();
        loadPart(number, image, pixels, part);
      });
      if (!finished) return true;
    }
    if (isSame) return false;
    before = isPlain ? std::optional(std::move(plain)) : std::nullopt;
    return true;
  }

 private:
  // Takes the image's part of the tile, whole where all of the image is there and else window by
  // window: where its pixels lie, which they are, and the part of the tile that they are. False
  // where the run ended first.
  template <class Take>
  bool forEachWindow(const Image& image, const Take& take) const {
    const Crop crop(l_, image);
    const ImageWindow all = crop.window(origin_.row, origin_.column, l_.height, l_.width);
    if (image.windows == nullptr) {
      take(Pixels{image.pixels, {0, 0, image.height, image.width}}, all, ImageWindow{0, 0, l_.height, l_.width});
      return true;
    }
    for (const ImageWindow& window : image.windows->split(all)) {
      const std::optional<ImageWindows::Pixels> pixels = image.windows->take(window);
      if (!pixels) return false;
      ImageWindow part = crop.inCrop(window);
      part.top -= origin_.row;
      part.left -= origin_.column;
      take(Pixels{pixels->data(), window}, window, part);
    }
    return true;
  }

  T normalised(double value, std::size_t c) const { return static_cast<T>((value - meanOf(l_, c)) / deviationOf(l_, c)); }

  // The part of the tile that lies in the pixels.
  void loadPart(std::int64_t number, const Image& image, const Pixels& pixels, const ImageWindow& part) const {
    const Crop crop(l_, image);
    const std::int64_t pixelBytes = pixels.isOne ? 0 : image.pixelBytes();
    const std::int64_t step = (crop.right.row * pixels.window.width + crop.right.column) * pixelBytes;
    const std::int64_t block = planes_.block;
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t plane = number * planes_.blocks; plane < (number + 1) * planes_.blocks; ++plane) {
      for (std::int64_t y = part.top; y < part.top + part.height; ++y) {
        const Place place = crop.at(origin_.row + y, origin_.column + part.left);
        const std::uint8_t* first = pixels.at(place.row, place.column, pixelBytes);
        T* out = destination_ + ((plane * l_.height + y) * l_.width + part.left) * block;
        const auto fill = [&](const auto& valueOf) {
          for (std::int64_t x = 0; x < part.width; ++x)
            for (std::int64_t lane = 0; lane < block; ++lane) {
              const std::int64_t c = planes_.firstChannel(plane) + lane;
              out[x * block + lane] = c < l_.channels ? valueOf(first + x * step, static_cast<std::size_t>(c)) : T(0);
            }
        };
        const auto fillWith = [&](auto element) {
          using Element = decltype(element);
          fill([&](const std::uint8_t* pixel, std::size_t c) { return normalised(static_cast<double>(elementAt<Element>(pixel, c)), c); });
        };
        switch (image.elementType) {
          case ElementType::uint8:
            if (image.colour)
              fill([&](const std::uint8_t* pixel, std::size_t c) { return normalised(mixed(*image.colour, pixel, c), c); });
            else
              fill([&](const std::uint8_t* pixel, std::size_t c) { return values_[c][pixel[c]]; });
            break;
          case ElementType::uint16:
            fillWith(std::uint16_t{});
            break;
          case ElementType::int16:
            fillWith(std::int16_t{});
            break;
          case ElementType::float32:
            fillWith(float{});
            break;
        }
      }
    }
  }

  const LoadImage& l_;
  const TileOrigin& origin_;
  Planes planes_;
  T* destination_;
  std::vector<std::array<T, 256>> values_;
};

template <class T>
class CompiledLoad : public CompiledKernel {
 public:
  explicit CompiledLoad(LoadImage load) : load_(std::move(load)) {}
  void launch(const std::vector<Operand>& operands, const StepParameters& step) override {
    const LaunchOperands o{operands};
    ImageTile<T>(load_, o.origin(1), o.at<T>(0)).load(step.images);
  }
  bool loadUnless(std::optional<PlainTile>& before, const std::vector<Operand>& operands, const StepParameters& step) override {
    const LaunchOperands o{operands};
    return ImageTile<T>(load_, o.origin(1), o.at<T>(0)).loadUnless(before, step.images);
  }

 private:
  LoadImage load_;
};

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileImage(const Kernel& kernel) {
  if (kernel.kind != KernelKind::loadImage) return nullptr;
  return std::make_unique<CompiledLoad<T>>(decode<LoadImage>(kernel));
}
TILEFOLD_COMPILES(compileImage)

}  // namespace tilefold::reference
