#include "slide.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "../failure.hpp"

namespace tilefold {
namespace {

using Osr = struct OpenSlideObject;  // openslide_t

// The part of OpenSlide's C interface that this uses, the same in 3.4 and 4.0.
struct Library {
  const char* (*detectVendor)(const char* path) = nullptr;
  Osr* (*open)(const char* path) = nullptr;
  void (*close)(Osr*) = nullptr;
  const char* (*error)(Osr*) = nullptr;
  std::int32_t (*levelCount)(Osr*) = nullptr;
  void (*levelDimensions)(Osr*, std::int32_t level, std::int64_t* width, std::int64_t* height) = nullptr;
  double (*levelDownsample)(Osr*, std::int32_t level) = nullptr;
  const char* (*property)(Osr*, const char* name) = nullptr;
  void (*readRegion)(Osr*, std::uint32_t* argb, std::int64_t x, std::int64_t y, std::int32_t level, std::int64_t width,
                     std::int64_t height) = nullptr;
};

template <class Function>
void resolve(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) throw Failure(std::string("OpenSlide has no function ") + name + ": install version 3.4 or 4");
}

void* openLibrary() {
  const char* given = std::getenv("TILEFOLD_OPENSLIDE_PATH");
  const std::filesystem::path folder(given == nullptr ? "" : given);
  if (!folder.empty() && !folder.is_absolute())
    throw Failure("TILEFOLD_OPENSLIDE_PATH is " + folder.string() + ", which is no absolute path: give one");
  for (const char* name : {"libopenslide.so.1", "libopenslide.so.0"})
    if (void* library = dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  throw Failure(
      "is of a format that OpenSlide reads, which is not installed: install it (Debian, Ubuntu: apt install libopenslide0, or "
      "libopenslide1), or set TILEFOLD_OPENSLIDE_PATH to its folder");
}

const Library& library() {
  // Stays loaded until the process ends; a failure is tried again.
  static const Library loaded = [] {
    void* const handle = openLibrary();
    Library functions;
    resolve(handle, "openslide_detect_vendor", functions.detectVendor);
    resolve(handle, "openslide_open", functions.open);
    resolve(handle, "openslide_close", functions.close);
    resolve(handle, "openslide_get_error", functions.error);
    resolve(handle, "openslide_get_level_count", functions.levelCount);
    resolve(handle, "openslide_get_level_dimensions", functions.levelDimensions);
    resolve(handle, "openslide_get_level_downsample", functions.levelDownsample);
    resolve(handle, "openslide_get_property_value", functions.property);
    resolve(handle, "openslide_read_region", functions.readRegion);
    return functions;
  }();
  return loaded;
}

// Pixels of the library's own form that are held at a time.
constexpr std::int64_t bandPixels = std::int64_t{1} << 22;

// Colours are multiplied by the opacity; beneath lies white.
void toRgb(const std::vector<std::uint32_t>& argb, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < argb.size(); ++i) {
    const std::uint32_t beneath = 255 - (argb[i] >> 24);
    rgb[3 * i] = static_cast<std::uint8_t>(std::min<std::uint32_t>(255, (argb[i] >> 16 & 255) + beneath));
    rgb[3 * i + 1] = static_cast<std::uint8_t>(std::min<std::uint32_t>(255, (argb[i] >> 8 & 255) + beneath));
    rgb[3 * i + 2] = static_cast<std::uint8_t>(std::min<std::uint32_t>(255, (argb[i] & 255) + beneath));
  }
}

}  // namespace

class SlideHandle {
 public:
  explicit SlideHandle(const std::string& path) : slide_(library().open(path.c_str())) {
    if (slide_ == nullptr) throw Failure("is no slide that OpenSlide knows");
    try {
      check();
    } catch (const Failure&) {
      library().close(slide_);
      throw;
    }
  }
  ~SlideHandle() { library().close(slide_); }
  SlideHandle(const SlideHandle&) = delete;
  SlideHandle& operator=(const SlideHandle&) = delete;

  Osr* get() const { return slide_; }
  // A slide that has failed once answers nothing any more.
  void check() const {
    if (const char* error = library().error(slide_)) throw Failure(error);
  }

 private:
  Osr* slide_;
};

Slide::Slide(std::string path) : path_(std::move(path)) {
  const char* vendor = library().detectVendor(path_.c_str());
  if (vendor == nullptr) throw Failure("is no slide that OpenSlide knows");
  vendor_ = vendor;
  const std::shared_ptr<SlideHandle> slide = handle();
  const std::int32_t count = library().levelCount(slide->get());
  for (std::int32_t level = 0; level < count; ++level) {
    SlideLevel extent;
    library().levelDimensions(slide->get(), level, &extent.width, &extent.height);
    extent.downsample = library().levelDownsample(slide->get(), level);
    levels_.push_back(extent);
  }
  slide->check();
  if (levels_.empty() || levels_.front().width <= 0 || levels_.front().height <= 0) throw Failure("has no level");
  if (const char* text = library().property(slide->get(), "openslide.mpp-x")) {
    const double microns = std::strtod(text, nullptr);
    if (microns > 0 && std::isfinite(microns)) micronsPerPixel_ = microns;
  }
}

std::shared_ptr<SlideHandle> Slide::handle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!handle_) handle_ = std::make_shared<SlideHandle>(path_);
  return handle_;
}

void Slide::read(std::int32_t level, const ImageWindow& window, std::uint8_t* rgb) {
  if (level < 0 || static_cast<std::size_t>(level) >= levels_.size()) throw Failure("has no level " + std::to_string(level));
  const SlideLevel& read = levels_[static_cast<std::size_t>(level)];
  if (window.top < 0 || window.left < 0 || window.height <= 0 || window.width <= 0 || window.top > read.height - window.height ||
      window.left > read.width - window.width)
    throw Failure("has no such window");
  const std::shared_ptr<SlideHandle> slide = handle();
  // Places are counted in pixels of the finest level; OpenSlide divides them by the level's scale.
  const auto finest = [&](std::int64_t place) { return std::llround(static_cast<double>(place) * read.downsample); };
  const std::int64_t x = finest(window.left), rows = std::max<std::int64_t>(1, bandPixels / window.width);
  std::vector<std::uint32_t> argb;
  for (std::int64_t row = 0; row < window.height; row += rows) {
    const std::int64_t height = std::min(rows, window.height - row);
    argb.assign(static_cast<std::size_t>(height * window.width), 0);
    library().readRegion(slide->get(), argb.data(), x, finest(window.top + row), level, window.width, height);
    try {
      slide->check();
    } catch (const Failure&) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (handle_ == slide) handle_.reset();
      throw;
    }
    toRgb(argb, rgb + row * window.width * 3);
  }
}

}  // namespace tilefold
