// What a kernel found wrong, in words.
#pragma once
#include <string>

#include "context.hpp"

namespace tilefold::cuda {

std::string sentence(const Fault& fault);

}  // namespace tilefold::cuda
