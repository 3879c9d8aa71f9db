// What the numbers of kernels must satisfy, by the families of staging/kernels/families: a family
// checks its own kinds and returns true, and false for all others. All throw Failure, whose
// sentence names the field.
#pragma once
#include <cstdint>
#include <string>

#include "../kernels/kernel_fields.hpp"
#include "../whole.hpp"

namespace tilefold {

bool checkConvolution(const Kernel& kernel);
bool checkLinear(const Kernel& kernel);
bool checkLoss(const Kernel& kernel);
bool checkMovement(const Kernel& kernel);
bool checkNormalisation(const Kernel& kernel);
bool checkNormalisedConvolution(const Kernel& kernel);
bool checkOptimizer(const Kernel& kernel);
bool checkPointwise(const Kernel& kernel);
bool checkPooling(const Kernel& kernel);
bool checkResampling(const Kernel& kernel);

// What several families check.
void positive(const char* name, std::int64_t value);
void notNegative(const char* name, std::int64_t value);
void notNegative(const char* name, double value);
void between(const char* name, double value, double least, double below);
void activationLayout(const char* name, Layout layout);
void weightLayout(const char* name, Layout layout);
void check(const Tile& t);
void check(const StridedTile& t);
void check(const PlacedTile& t);
void check(const ChannelGroups& t);
void check(const MergeParts& m);
// One side of a tile, and of the tensor that it is of.
void checkTileExtent(const char* name, std::int64_t tile, std::int64_t full);
void checkWindow(const Window& w, std::int64_t overhangBottom = 0, std::int64_t overhangRight = 0);

}  // namespace tilefold
