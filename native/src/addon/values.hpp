// Values across the border: what JavaScript hands in is checked, what fails is handed back as {
// error: { code, message } }.
#pragma once
#include <napi.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../failure.hpp"

namespace tilefold::addon {

Napi::Object objectOf(const Napi::Value& value, const char* what);
double numberOf(const Napi::Object& object, const char* name);
bool flagOf(const Napi::Object& object, const char* name);
std::string textOf(const Napi::Object& object, const char* name);
std::vector<double> doublesOf(const Napi::Value& value, const char* what);
// Every element of the array `object[name]`.
std::vector<Napi::Object> objectsOf(const Napi::Object& object, const char* name);

Napi::Object success(Napi::Env env, const Napi::Value& value);
Napi::Object failure(Napi::Env env, const std::string& code, const std::string& message);

// What was thrown, as { error } has it.
struct Failed {
  std::string code, message;
};
// Of the exception that is being handled, on any thread.
Failed currentFailure();

// A whole number of JavaScript's within 0 .. 2^53. Throws Failure.
std::uint64_t countOf(const Napi::Object& object, const char* name);

// An object of JavaScript's that holds a value until it is collected.
template <class Value>
Napi::External<Value> externalOf(Napi::Env env, Value value) {
  auto held = std::make_unique<Value>(std::move(value));
  auto external = Napi::External<Value>::New(env, held.get(), [](Napi::Env, Value* ended) { std::unique_ptr<Value>{ended}; });
  static_cast<void>(held.release());
  return external;
}

// { value: body() }, or { error } for whatever it throws: no exception leaves the addon.
template <class Body>
Napi::Value guarded(Napi::Env env, const Body& body) {
  try {
    return success(env, body());
  } catch (const std::exception&) {
    const auto [code, message] = currentFailure();
    return failure(env, code, message);
  }
}

}  // namespace tilefold::addon
