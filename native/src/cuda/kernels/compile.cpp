#include "compile.hpp"

#include <utility>

#include "compiled.hpp"
#include "families.hpp"
#include "plain_tile.hpp"

namespace tilefold::cuda {
namespace {

// One class for all kernels: a class for each of them in each type took most of the build's time.
class CompiledBody : public CompiledKernel {
 public:
  CompiledBody(const Context& context, std::function<void(const Arguments&)> body) : context_(context), body_(std::move(body)) {}
  void launch(const std::vector<Operand>& operands, const StepParameters&) override { body_(Arguments{{operands}, context_}); }
  void load(const std::vector<Operand>& operands, const StepParameters&) override {
    Context loading = context_;
    loading.compute = context_.load;
    body_(Arguments{{operands}, loading});
  }

 protected:
  const Context& context_;

 private:
  std::function<void(const Arguments&)> body_;
};

class LoadBody : public CompiledBody {
 public:
  LoadBody(const Context& context, LoadImage load, std::function<void(const Arguments&)> body)
      : CompiledBody(context, std::move(body)), load_(std::move(load)) {}
  bool repeats(std::optional<PlainTile>& before, const std::vector<Operand>& operands) override {
    std::optional<PlainTile> tile = findPlainTile(context_.images, load_, LaunchOperands{operands}.origin(1));
    const bool isSame = tile && before && tile->firstImage == before->firstImage && tile->pixels == before->pixels;
    before = std::move(tile);
    return isSame;
  }

 private:
  LoadImage load_;
};

class FusedBody : public FusedKernel {
 public:
  FusedBody(const Context& context, std::optional<Kernel> waitsAs, std::function<void(const Arguments&)> body, With with)
      : body_(context, std::move(body)), waitsAs_(std::move(waitsAs)), with_(std::move(with)) {}
  void launch(const std::vector<Operand>& operands, const StepParameters& step) override { body_.launch(operands, step); }
  void load(const std::vector<Operand>& operands, const StepParameters& step) override { body_.load(operands, step); }
  const Kernel* waitsAs() const override { return waitsAs_ ? &*waitsAs_ : nullptr; }
  std::function<void()> with(const std::vector<WaitingLaunch>& before, const std::vector<Operand>& operands) override {
    return with_ ? with_(before, operands) : nullptr;
  }

 private:
  CompiledBody body_;
  std::optional<Kernel> waitsAs_;
  With with_;
};

class SmallBody : public SmallKernel {
 public:
  SmallBody(const Context& context, std::function<SmallLaunch(const Arguments&)> of) : context_(context), of_(std::move(of)) {}
  SmallLaunch launchOf(const std::vector<Operand>& operands) const override { return of_(Arguments{{operands}, context_}); }
  void launch(const std::vector<Operand>& operands, const StepParameters&) override {
    const SmallLaunch launch = launchOf(operands);
    launch.enqueue(context_, {launch});
  }

 private:
  const Context& context_;
  std::function<SmallLaunch(const Arguments&)> of_;
};

// With activations of type T.
template <class T>
std::unique_ptr<CompiledKernel> compileFor(const Kernel& kernel, const Context& context) {
  using CompileFamily = std::unique_ptr<CompiledKernel> (*)(const Kernel&, const Context&);
  constexpr CompileFamily families[] = {compileAveragePool<T>,
                                        compileClassLoss<T>,
                                        compileClipping<T>,
                                        compileCopyRows<T>,
                                        compileCrossEntropy<T>,
                                        compileExpression<T>,
                                        compileGlobalAveragePool<T>,
                                        compileGlobalMaxPool<T>,
                                        compileImage<T>,
                                        compileMaxPool<T>,
                                        compileMoments<T>,
                                        compileMovement<T>,
                                        compileNormalise<T>,
                                        compileNormaliseBackwardReduce<T>,
                                        compileOptimizer<T>,
                                        compilePixelLoss<T>,
                                        compilePointwise<T>,
                                        compileReorder<T>,
                                        compileResampling<T>,
                                        compileSquaredError<T>,
                                        compileTileBias<T>,
                                        compileValueLoss<T>};
  for (const CompileFamily compileFamily : families)
    if (auto compiled = compileFamily(kernel, context)) return compiled;
  throw Failure(std::string("the cuda device has no kernel ") + kernelInfo(kernel.kind).name + " of its own");
}

}  // namespace

std::unique_ptr<CompiledKernel> compiled(const Context& context, std::function<void(const Arguments&)> body) {
  return std::make_unique<CompiledBody>(context, std::move(body));
}

std::unique_ptr<CompiledKernel> compiledSmall(const Context& context, std::function<SmallLaunch(const Arguments&)> of) {
  return std::make_unique<SmallBody>(context, std::move(of));
}

std::unique_ptr<CompiledKernel> compiledWaiting(const Context& context, const Kernel& kernel, std::function<void(const Arguments&)> body,
                                                With with) {
  return std::make_unique<FusedBody>(context, kernel, std::move(body), std::move(with));
}

std::unique_ptr<CompiledKernel> compiledWith(const Context& context, std::function<void(const Arguments&)> body, With with) {
  return std::make_unique<FusedBody>(context, std::nullopt, std::move(body), std::move(with));
}

std::unique_ptr<CompiledKernel> compiledLoad(const Context& context, LoadImage load, std::function<void(const Arguments&)> body) {
  return std::make_unique<LoadBody>(context, std::move(load), std::move(body));
}

std::unique_ptr<CompiledKernel> compileOwn(const Kernel& kernel, const Context& context) {
  return context.precision == Precision::bf16 ? compileFor<Bfloat16>(kernel, context) : compileFor<float>(kernel, context);
}

}  // namespace tilefold::cuda
