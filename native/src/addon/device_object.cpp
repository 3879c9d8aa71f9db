#include "device_object.hpp"

#include <omp.h>

#include <array>

#include "../interpreter/time_kernel.hpp"
#include "../program/kernel_decoder.hpp"
#include "session_object.hpp"
#include "values.hpp"

namespace tilefold::addon {
namespace {

Kernel kernelOf(const Napi::CallbackInfo& info, std::initializer_list<KernelKind> kinds) {
  const std::vector<Kernel> kernels = decodeKernels(doublesOf(info[0], "kernel"));
  if (kernels.size() != 1) throw Failure("the device was asked about " + std::to_string(kernels.size()) + " kernels instead of one");
  for (const KernelKind kind : kinds)
    if (kernels[0].kind == kind) return kernels[0];
  throw Failure(std::string(kernelInfo(kernels[0].kind).name) + " has no such operand");
}

constexpr auto withScratch = {KernelKind::convolutionForward, KernelKind::convolutionBackwardData, KernelKind::convolutionBackwardWeights,
                              KernelKind::normalisedConvolutionForward, KernelKind::normalisedConvolutionBackwardWeights};
constexpr auto convolutions = {KernelKind::convolutionForward, KernelKind::convolutionBackwardData, KernelKind::convolutionBackwardWeights};

using Queries = std::shared_ptr<DeviceQueries>;

Napi::Value scratchBytes(const Napi::CallbackInfo& info, const Queries& queries) {
  const Kernel kernel = kernelOf(info, withScratch);
  return Napi::Number::New(info.Env(), static_cast<double>(queries->ask([&](Device& device) { return device.scratchBytes(kernel); })));
}

Napi::Value indicesBytes(const Napi::CallbackInfo& info, const Queries& queries) {
  const Kernel kernel = kernelOf(info, {KernelKind::maxPoolForward, KernelKind::maxPoolBackward});
  return Napi::Number::New(info.Env(), static_cast<double>(queries->ask([&](Device& device) { return device.indicesBytes(kernel); })));
}

Napi::Value activationLayout(const Napi::CallbackInfo& info, const Queries& queries) {
  const Napi::Object request = objectOf(info[0], "request");
  const auto channels = static_cast<std::int64_t>(countOf(request, "channels"));
  const bool input = flagOf(request, "input");
  const Layout layout = queries->ask([&](Device& device) { return device.activationLayout(channels, input); });
  return Napi::String::New(info.Env(), layoutInfo(layout).name);
}

Napi::Value weightLayouts(const Napi::CallbackInfo& info, const Queries& queries) {
  const Kernel kernel = kernelOf(info, {KernelKind::convolutionForward});
  const Device::WeightLayouts answer = queries->ask([&](Device& device) { return device.weightLayouts(kernel); });
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("stored", layoutInfo(answer.stored).name);
  result.Set("forward", layoutInfo(answer.forward).name);
  result.Set("backwardData", layoutInfo(answer.backwardData).name);
  return result;
}

Napi::Value milliseconds(const Napi::CallbackInfo& info, const Queries& queries) {
  const std::vector<Kernel> kernels = decodeKernels(doublesOf(info[0], "kernels"));
  const auto times = queries->ask([&](Device& device) { return timeKernels(kernels, device); });
  Napi::Array result = Napi::Array::New(info.Env(), times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto* time = std::get_if<double>(&times[i]);
    const auto index = static_cast<std::uint32_t>(i);
    if (time != nullptr)
      result.Set(index, Napi::Number::New(info.Env(), *time));
    else
      result.Set(index, Napi::String::New(info.Env(), std::get<std::string>(times[i])));
  }
  return result;
}

Napi::Value linkBytesPerSecond(const Napi::CallbackInfo& info, const Queries& queries) {
  const auto [toDevice, toHost] =
      queries->ask([](Device& device) { return std::pair(timeCopy(device, Engine::toDevice), timeCopy(device, Engine::toHost)); });
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("toDevice", toDevice);
  result.Set("toHost", toHost);
  return result;
}

Napi::Value algorithms(const Napi::CallbackInfo& info, const Queries& queries) {
  const Kernel kernel = kernelOf(info, convolutions);
  const std::vector<Algorithm> found = queries->ask([&](Device& device) { return device.algorithms(kernel); });
  Napi::Array result = Napi::Array::New(info.Env(), found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    Napi::Object one = Napi::Object::New(info.Env());
    one.Set("algorithm", static_cast<double>(found[i].code));
    one.Set("scratchBytes", static_cast<double>(found[i].scratchBytes));
    result.Set(static_cast<std::uint32_t>(i), one);
  }
  return result;
}

Napi::Value properties(const Napi::CallbackInfo& info, const Queries& queries) {
  const std::optional<DeviceProperties> found = queries->ask([](Device& device) { return device.properties(); });
  if (!found) throw Failure("the device has no properties of its own");
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("name", found->name);
  result.Set("library", found->library);
  result.Set("flopsPerSecond", found->flopsPerSecond);
  result.Set("bytesPerSecond", found->bytesPerSecond);
  result.Set("launchSeconds", found->launchSeconds);
  result.Set("multiprocessors", found->multiprocessors);
  result.Set("memoryBytes", found->memoryBytes);
  return result;
}

using Query = Napi::Value (*)(const Napi::CallbackInfo&, const Queries&);

Napi::Function query(Napi::Env env, const Queries& queries, Query answer) {
  return Napi::Function::New(
      env, [queries, answer](const Napi::CallbackInfo& info) { return guarded(info.Env(), [&] { return answer(info, queries); }); });
}

const char* nameOf(Use use) {
  static constexpr std::array<const char*, 5> names{"read", "write", "accumulate", "scratch", "index"};
  return names.at(static_cast<std::size_t>(use));
}

}  // namespace

Napi::Value openDevice(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const auto queries = std::make_shared<DeviceQueries>(choiceOf(objectOf(info[0], "options")));
    Napi::Object device = Napi::Object::New(env);
    device.Set("scratchBytes", query(env, queries, scratchBytes));
    device.Set("indicesBytes", query(env, queries, indicesBytes));
    device.Set("activationLayout", query(env, queries, activationLayout));
    device.Set("weightLayouts", query(env, queries, weightLayouts));
    device.Set("milliseconds", query(env, queries, milliseconds));
    device.Set("linkBytesPerSecond", query(env, queries, linkBytesPerSecond));
    device.Set("algorithms", query(env, queries, algorithms));
    device.Set("properties", query(env, queries, properties));
    return device;
  });
}

Napi::Value kernelTableValue(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    Napi::Array table = Napi::Array::New(env);
    for (const KernelInfo& kernel : kernelTable()) {
      Napi::Array fields = Napi::Array::New(env), operands = Napi::Array::New(env);
      for (const char* field : kernel.fields) fields.Set(fields.Length(), Napi::String::New(env, field));
      for (const OperandInfo& operand : kernel.operands) {
        Napi::Object entry = Napi::Object::New(env);
        entry.Set("name", operand.name);
        entry.Set("use", nameOf(operand.use));
        entry.Set("optional", operand.optional);
        entry.Set("inPlace", operand.inPlace);
        operands.Set(operands.Length(), entry);
      }
      Napi::Object row = Napi::Object::New(env);
      row.Set("name", kernel.name);
      row.Set("fields", fields);
      row.Set("operands", operands);
      table.Set(table.Length(), row);
    }
    return table;
  });
}

Napi::Value layoutTableValue(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    Napi::Array table = Napi::Array::New(env);
    for (const LayoutInfo& layout : layouts) {
      Napi::Object row = Napi::Object::New(env);
      row.Set("name", layout.name);
      row.Set("channels", static_cast<double>(layout.channels));
      row.Set("out", static_cast<double>(layout.out));
      row.Set("in", static_cast<double>(layout.in));
      row.Set("groups", static_cast<double>(layout.groups));
      row.Set("positions", static_cast<double>(layout.positions));
      table.Set(table.Length(), row);
    }
    return table;
  });
}

Napi::Value versionsValue(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const LibraryVersion library = cpuLibrary();
    Napi::Object versions = Napi::Object::New(env);
    versions.Set("library", library.name);
    versions.Set("version", library.version);
    versions.Set("instructionSet", library.instructionSet);
    versions.Set("processors", static_cast<double>(omp_get_num_procs()));
    return versions;
  });
}

}  // namespace tilefold::addon
