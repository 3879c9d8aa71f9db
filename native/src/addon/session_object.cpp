#include "session_object.hpp"

#include <optional>
#include <variant>

#include "end_watch.hpp"
#include "given_images.hpp"
#include "mapped_buffer_object.hpp"
#include "network_object.hpp"
#include "promised.hpp"
#include "values.hpp"

namespace tilefold::addon {
namespace {

EncodedProgram programOf(const Napi::Object& options) {
  EncodedProgram program;
  program.arenaBytes = numberOf(options, "arenaBytes");
  program.peakBytes = numberOf(options, "peakBytes");
  program.hostBytes = numberOf(options, "hostBytes");
  program.pageBytes = numberOf(options, "pageBytes");
  program.addressBytes = numberOf(options, "addressBytes");
  program.residentBytes = numberOf(options, "residentBytes");
  const std::vector<double> input = doublesOf(options.Get("input"), "input");
  if (input.size() != program.input.size()) throw Failure("the input has " + std::to_string(input.size()) + " extents instead of 4");
  std::copy(input.begin(), input.end(), program.input.begin());
  program.kernels = doublesOf(options.Get("kernels"), "kernels");
  program.workspaces = doublesOf(options.Get("workspaces"), "workspaces");
  for (const Napi::Object& section : objectsOf(options, "sections"))
    program.sections.push_back({textOf(section, "name"), doublesOf(section.Get("code"), "code"), numberOf(section, "stepIoBytes")});
  return program;
}

// One run of a section off the main thread. Holds on to every buffer that the run touches.
class Run : public Napi::AsyncWorker {
 public:
  Run(Napi::Env env, std::shared_ptr<Session> session, const Napi::CallbackInfo& info)
      : Napi::AsyncWorker(env),
        session_(std::move(session)),
        images_(env, objectOf(info[2], "parameters")),
        end_(env, [session = std::weak_ptr<Session>(session_)] {
          if (const std::shared_ptr<Session> open = session.lock()) open->interrupt();
        }) {
    if (!info[0].IsString()) throw Failure("the section is no string");
    section_ = info[0].As<Napi::String>().Utf8Value();
    const Napi::Object parameters = objectOf(info[2], "parameters");
    step_.learningRate = numberOf(parameters, "learningRate");
    step_.step = countOf(parameters, "step");
    step_.seed = countOf(parameters, "seed");
    const std::uint64_t prepared = countOf(parameters, "prepared");
    // What getters of JavaScript's do to buffers they have done by now.
    images_.takePixels();
    if (const MappedBuffer* mapped = mappedBufferOf(info[1])) {
      stepIo_ = static_cast<std::byte*>(mapped->data());
      stepIoBytes_ = mapped->bytes();
    } else {
      if (!info[1].IsArrayBuffer()) throw Failure("the I/O buffer is no ArrayBuffer");
      requireFixed(info[1], "the I/O buffer");
      stepIo_ = static_cast<std::byte*>(info[1].As<Napi::ArrayBuffer>().Data());
      stepIoBytes_ = info[1].As<Napi::ArrayBuffer>().ByteLength();
    }
    buffer_ = Napi::Persistent(info[1].As<Napi::Object>());
    step_.images = images_.images;
    session_->begin(images_.windows(), prepared);
  }

  // Of a run that can begin: a promise that is never settled is never freed.
  Napi::Promise promise() {
    deferred_.emplace(Napi::Promise::Deferred::New(Env()));
    return deferred_->Promise();
  }

 protected:
  void Execute() override {
    try {
      milliseconds_ = session_->run(section_, stepIo_, stepIoBytes_, step_, [this] { end_.look(); });
    } catch (const std::exception&) {
      failed_ = currentFailure();
    }
  }

  void OnOK() override {
    const Napi::Env env = Env();
    if (failed_)
      deferred_->Resolve(failure(env, failed_->code, failed_->message));
    else if (!milliseconds_)
      deferred_->Resolve(failure(env, "interrupted", "section " + section_ + " was interrupted before its end"));
    else
      deferred_->Resolve(success(env, Napi::Number::New(env, *milliseconds_)));
  }

 private:
  std::optional<Napi::Promise::Deferred> deferred_;
  std::shared_ptr<Session> session_;
  GivenImages images_;
  EndWatch end_;
  Napi::ObjectReference buffer_;
  std::string section_;
  std::byte* stepIo_ = nullptr;
  std::size_t stepIoBytes_ = 0;
  StepParameters step_;
  std::optional<double> milliseconds_;
  std::optional<Failed> failed_;
};

// What the session's functions share; close() empties it.
struct Holder {
  std::shared_ptr<Session> session;
  Session& open() const {
    if (!session) throw Failure("the session is closed");
    return *session;
  }
};

Napi::Value run(const Napi::CallbackInfo& info, const Holder& holder) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    holder.open();
    auto run = std::make_unique<Run>(env, holder.session, info);
    const Napi::Promise promise = run->promise();
    run.release()->Queue();  // an AsyncWorker deletes itself when it is done
    return promise;
  });
}

Napi::Value prepare(const Napi::CallbackInfo& info, const Holder& holder) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    holder.open();
    // Getters of the images may close it.
    const std::shared_ptr<Session> session = holder.session;
    const Napi::Object given = objectOf(info[0], "what to prepare");
    const auto images = std::make_shared<GivenImages>(env, given);
    const std::uint64_t number = countOf(given, "number");
    images->takePixels();
    const auto work = [session, number, images] {
      session->prepare(number, images->images);
      return std::monostate{};
    };
    return Promised<std::monostate>::begin(env, work, [](Napi::Env of, const std::monostate&) { return of.Undefined(); });
  });
}

}  // namespace

Precision precisionNamed(const std::string& name) {
  if (name == "float32") return Precision::float32;
  if (name == "float64") return Precision::float64;
  if (name == "bf16") return Precision::bf16;
  throw Failure("there is no precision '" + name + "': use float32, float64 or bf16");
}

DeviceChoice choiceOf(const Napi::Object& options) {
  return {textOf(options, "device"), precisionNamed(textOf(options, "precision")), static_cast<std::int64_t>(countOf(options, "threads")),
          textOf(options, "math") == "tf32"};
}

Napi::Value openSession(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const Napi::Object options = objectOf(info[0], "options");
    const Measuring measuring{flagOf(options, "timesKernels"), flagOf(options, "traces")};
    auto holder = std::make_shared<Holder>();
    holder->session = std::make_shared<Session>(choiceOf(options), programOf(options), numberOf(options, "linkBytesPerSecond"), measuring,
                                                networkOf(options.Get("network")));
    Napi::Object session = Napi::Object::New(env);
    session.Set("run", Napi::Function::New(env, [holder](const Napi::CallbackInfo& call) { return run(call, *holder); }));
    session.Set("prepare", Napi::Function::New(env, [holder](const Napi::CallbackInfo& call) { return prepare(call, *holder); }));
    session.Set("interrupt", Napi::Function::New(env, [holder](const Napi::CallbackInfo& call) {
                  return guarded(call.Env(), [&]() -> Napi::Value {
                    holder->open().interrupt();
                    return call.Env().Undefined();
                  });
                }));
    session.Set("measuredPeakBytes", Napi::Function::New(env, [holder](const Napi::CallbackInfo& call) {
                  return guarded(call.Env(), [&]() -> Napi::Value {
                    return Napi::Number::New(call.Env(), static_cast<double>(holder->open().measuredPeakBytes()));
                  });
                }));
    session.Set("measuredHostPeakBytes", Napi::Function::New(env, [holder](const Napi::CallbackInfo& call) {
                  return guarded(call.Env(), [&]() -> Napi::Value {
                    return Napi::Number::New(call.Env(), static_cast<double>(holder->open().measuredHostPeakBytes()));
                  });
                }));
    session.Set("repeatedTiles", Napi::Function::New(env, [holder](const Napi::CallbackInfo& call) {
                  return guarded(call.Env(), [&]() -> Napi::Value {
                    return Napi::Number::New(call.Env(), static_cast<double>(holder->open().repeatedTiles()));
                  });
                }));
    session.Set("kernelMilliseconds", Napi::Function::New(env, [holder](const Napi::CallbackInfo& call) {
                  return guarded(call.Env(), [&]() -> Napi::Value {
                    const std::vector<double> times = holder->open().kernelMilliseconds();
                    Napi::Array array = Napi::Array::New(call.Env(), times.size());
                    for (std::size_t i = 0; i < times.size(); ++i) array.Set(static_cast<std::uint32_t>(i), times[i]);
                    return array;
                  });
                }));
    const auto timestamps = [holder](const Napi::CallbackInfo& call) {
      return guarded(call.Env(), [&]() -> Napi::Value {
        Napi::Array array = Napi::Array::New(call.Env(), engineCount);
        const PerEngine<std::vector<double>> noted = holder->open().timestamps();
        for (std::size_t engine = 0; engine < engineCount; ++engine) {
          Napi::Float64Array values = Napi::Float64Array::New(call.Env(), noted[engine].size());
          std::copy(noted[engine].begin(), noted[engine].end(), values.Data());
          array.Set(static_cast<std::uint32_t>(engine), values);
        }
        return array;
      });
    };
    if (measuring.traces) session.Set("timestamps", Napi::Function::New(env, timestamps));
    session.Set("close", Napi::Function::New(env, [holder](const Napi::CallbackInfo& call) {
                  return guarded(call.Env(), [&]() -> Napi::Value {
                    if (holder->session) holder->session->interrupt();
                    holder->session.reset();  // a run under way keeps its session until it ends
                    return call.Env().Undefined();
                  });
                }));
    return session;
  });
}

}  // namespace tilefold::addon
