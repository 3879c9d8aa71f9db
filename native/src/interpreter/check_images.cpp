#include <cmath>
#include <string>

#include "interpreter.hpp"

namespace tilefold {
namespace {

void checkColour(const std::string& name, const Image& image) {
  if (image.channels != 3)
    throw Failure(name + " has " + std::to_string(image.channels) + " channels, but colour changes red, green and blue: leave it out");
  if (image.elementType != ElementType::uint8) throw Failure(name + " has other samples than uint8, which colour changes: leave it out");
  for (const double factor : *image.colour)
    if (!std::isfinite(factor)) throw Failure(name + " has a colour that is not 12 finite numbers");
}

}  // namespace

void checkImages(const std::vector<Image>& images, const ImageExtent& input) {
  if (static_cast<std::int64_t>(images.size()) != input.batch)
    throw Failure("the step was given " + std::to_string(images.size()) + " images for a batch of " + std::to_string(input.batch));
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Image& image = images[i];
    const std::string name = "image " + std::to_string(i);
    if (image.channels != input.channels)
      throw Failure(name + " has " + std::to_string(image.channels) + " channels, but the network reads " + std::to_string(input.channels));
    if (image.quarterTurns < 0 || image.quarterTurns > 3)
      throw Failure(name + " is turned by " + std::to_string(image.quarterTurns) + " quarters: give quarterTurns of 0 to 3");
    if (image.colour) checkColour(name, image);
    const std::int64_t height = image.onItsSide() ? input.width : input.height, width = image.onItsSide() ? input.height : input.width;
    if (image.cropTop < 0 || image.cropLeft < 0 || image.height < height || image.width < width || image.cropTop > image.height - height ||
        image.cropLeft > image.width - width)
      throw Failure(name + " of " + std::to_string(image.height) + "x" + std::to_string(image.width) + " does not hold a crop of " +
                    std::to_string(height) + "x" + std::to_string(width) + " at row " + std::to_string(image.cropTop) + ", column " +
                    std::to_string(image.cropLeft) + (image.onItsSide() ? ", to be turned on its side" : ""));
  }
}

}  // namespace tilefold
