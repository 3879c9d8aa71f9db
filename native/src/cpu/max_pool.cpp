#include "max_pool.hpp"

#include <memory>

#include "../reference/pooling.hpp"

namespace tilefold::cpu {
namespace {

using dnnl::algorithm;
using dnnl::prop_kind;

struct Recipes {
  Descriptor source, destination, workspace;
  Recipe forward, backward;
};

// Both directions or neither, since the winners of one are read by the other. There is no scratch operand, so none may be asked for.
std::optional<Recipes> findRecipes(const MaxPool& p) {
  if (p.layout == Layout::plain) return std::nullopt;
  const Descriptor source = activationDescriptor(p.layout, p.batch, p.inChannels, p.inHeight, p.inWidth);
  const Descriptor destination = activationDescriptor(p.layout, p.batch, p.inChannels, p.outHeight, p.outWidth);
  const dnnl::memory::dims strides{p.strideHeight, p.strideWidth}, kernel{p.kernelHeight, p.kernelWidth};
  const dnnl::memory::dims dilation{p.dilationHeight - 1, p.dilationWidth - 1}, before{p.padTop, p.padLeft}, after{p.padBottom, p.padRight};
  try {
    const dnnl::pooling_v2_forward::desc forwardDescriptor(prop_kind::forward_training, algorithm::pooling_max, source, destination,
                                                           strides, kernel, dilation, before, after);
    const std::optional<Recipe> forward = Recipe::find(&forwardDescriptor.data);
    if (!forward || forward->scratchBytes() > 0) return std::nullopt;
    const dnnl::pooling_v2_backward::desc backwardDescriptor(algorithm::pooling_max, source, destination, strides, kernel, dilation, before,
                                                             after);
    const std::optional<Recipe> backward = Recipe::find(&backwardDescriptor.data, &*forward);
    if (!backward || backward->scratchBytes() > 0) return std::nullopt;
    return Recipes{source, destination, forward->workspace(), *forward, *backward};
  } catch (const dnnl::error&) {
    return std::nullopt;  // a window that the library refuses
  }
}

Launch compileReference(KernelKind kind, const MaxPool& p) {
  if (kind == KernelKind::maxPoolForward)
    return [p](const std::vector<Operand>& operands, const StepParameters&) {
      reference::maxPoolForward(p, elements<const float>(operands, 0), elements(operands, 1), elements<std::int32_t>(operands, 2));
    };
  return [p](const std::vector<Operand>& operands, const StepParameters&) {
    reference::maxPoolBackward(p, elements<const float>(operands, 0), elements<const std::int32_t>(operands, 1), elements(operands, 2));
  };
}

}  // namespace

std::size_t maxPoolWinnersBytes(const MaxPool& p) {
  const std::optional<Recipes> recipes = findRecipes(p);
  return recipes ? recipes->workspace.get_size() : reference::winnersBytes(p);
}

Implementation compileMaxPool(KernelKind kind, const MaxPool& p) {
  const std::optional<Recipes> found = findRecipes(p);
  if (!found) return {compileReference(kind, p), "reference"};
  return guarded("max pool", [&]() -> Implementation {
    const bool forward = kind == KernelKind::maxPoolForward;
    const Recipe& recipe = forward ? found->forward : found->backward;
    const auto primitive =
        std::make_shared<Primitive>(recipe, forward ? std::vector<std::pair<int, Descriptor>>{{DNNL_ARG_SRC, found->source},
                                                                                              {DNNL_ARG_DST, found->destination},
                                                                                              {DNNL_ARG_WORKSPACE, found->workspace}}
                                                    : std::vector<std::pair<int, Descriptor>>{{DNNL_ARG_DIFF_DST, found->destination},
                                                                                              {DNNL_ARG_WORKSPACE, found->workspace},
                                                                                              {DNNL_ARG_DIFF_SRC, found->source}});
    return {[primitive](const std::vector<Operand>& operands, const StepParameters&) {
              primitive->launch({operands[0].address, operands[1].address, operands[2].address});
            },
            recipe.name()};
  });
}

}  // namespace tilefold::cpu
