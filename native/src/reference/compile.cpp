#include <utility>

#include "compiled.hpp"
#include "device.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// One class for all kernels: a class for each of them in each type took most of the build's time.
class CompiledBody : public CompiledKernel {
 public:
  explicit CompiledBody(std::function<void(const Arguments&)> body) : body_(std::move(body)) {}
  void launch(const std::vector<Operand>& operands, const StepParameters& step) override { body_(Arguments{{operands}, step}); }

 private:
  std::function<void(const Arguments&)> body_;
};

}  // namespace

std::unique_ptr<CompiledKernel> compiled(std::function<void(const Arguments&)> body) {
  return std::make_unique<CompiledBody>(std::move(body));
}

template <class T>
std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) {
  using CompileFamily = std::unique_ptr<CompiledKernel> (*)(const Kernel&);
  constexpr CompileFamily families[] = {compileBias<T>,       compileClassLoss<T>,     compileClipping<T>,  compileConvolution<T>,
                                        compileExpression<T>, compileImage<T>,         compileLinear<T>,    compileLoss<T>,
                                        compileMovement<T>,   compileNormalisation<T>, compileOptimizer<T>, compilePadding<T>,
                                        compilePixelLoss<T>,  compilePointwise<T>,     compilePooling<T>,   compileResampling<T>};
  for (const CompileFamily compileFamily : families)
    if (auto compiled = compileFamily(kernel)) return compiled;
  throw Failure(std::string("the reference device has no kernel ") + kernelInfo(kernel.kind).name);
}
TILEFOLD_COMPILES(compile)

}  // namespace tilefold::reference
