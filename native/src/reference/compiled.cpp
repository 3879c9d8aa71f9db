#include "compiled.hpp"

#include <utility>

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

}  // namespace tilefold::reference
