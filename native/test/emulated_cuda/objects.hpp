// What the emulated libraries create for their callers, and destroy when told so.
#pragma once
#include <memory>

namespace tilefold::emulated {

template <class Status, class Object>
Status create(Object** object) {
  *object = std::make_unique<Object>().release();
  return Status::success;
}

template <class Status, class Object>
Status destroy(Object* object) {
  const std::unique_ptr<Object> owned(object);
  return Status::success;
}

}  // namespace tilefold::emulated
