#include "values.hpp"

#include "../whole.hpp"

namespace tilefold::addon {
namespace {

Napi::Value get(const Napi::Object& object, const char* name) { return object.Get(name); }

}  // namespace

Napi::Object objectOf(const Napi::Value& value, const char* what) {
  if (!value.IsObject()) throw Failure(std::string(what) + " is no object");
  return value.As<Napi::Object>();
}

double numberOf(const Napi::Object& object, const char* name) {
  const Napi::Value value = get(object, name);
  if (!value.IsNumber()) throw Failure(std::string(name) + " is no number");
  return value.As<Napi::Number>().DoubleValue();
}

std::uint64_t countOf(const Napi::Object& object, const char* name) {
  const std::int64_t value = wholeNumber(name, numberOf(object, name));
  if (value < 0) throw Failure(std::string(name) + " must not be negative, but is " + std::to_string(value));
  return static_cast<std::uint64_t>(value);
}

bool flagOf(const Napi::Object& object, const char* name) {
  const Napi::Value value = get(object, name);
  if (!value.IsBoolean()) throw Failure(std::string(name) + " is neither true nor false");
  return value.As<Napi::Boolean>().Value();
}

std::string textOf(const Napi::Object& object, const char* name) {
  const Napi::Value value = get(object, name);
  if (!value.IsString()) throw Failure(std::string(name) + " is no string");
  return value.As<Napi::String>().Utf8Value();
}

std::vector<double> doublesOf(const Napi::Value& value, const char* what) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array)
    throw Failure(std::string(what) + " is no Float64Array");
  const auto array = value.As<Napi::Float64Array>();
  return std::vector<double>(array.Data(), array.Data() + array.ElementLength());
}

std::vector<Napi::Object> objectsOf(const Napi::Object& object, const char* name) {
  const Napi::Value value = get(object, name);
  if (!value.IsArray()) throw Failure(std::string(name) + " is no array");
  const auto array = value.As<Napi::Array>();
  std::vector<Napi::Object> objects;
  for (std::uint32_t i = 0; i < array.Length(); ++i) objects.push_back(objectOf(array.Get(i), name));
  return objects;
}

Napi::Object success(Napi::Env env, const Napi::Value& value) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("value", value);
  return result;
}

Napi::Object failure(Napi::Env env, const std::string& code, const std::string& message) {
  Napi::Object error = Napi::Object::New(env);
  error.Set("code", code);
  error.Set("message", message);
  Napi::Object result = Napi::Object::New(env);
  result.Set("error", error);
  return result;
}

Failed currentFailure() {
  try {
    throw;
  } catch (const NoMemory& error) {
    return {"memory", error.what()};
  } catch (const NoThreads& error) {
    return {"threads", error.what()};
  } catch (const Failure& error) {
    return {"device", error.what()};
  } catch (const Napi::Error& error) {
    return {"device", "the addon was called with wrong values (" + error.Message() + ")"};
  } catch (const std::exception& error) {
    return {"device", std::string("the device failed (") + error.what() + ")"};
  }
}

}  // namespace tilefold::addon
