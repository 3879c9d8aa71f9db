// AddressSanitizer's word on memory that nobody may touch; nothing without it.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TILEFOLD_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TILEFOLD_ADDRESS_SANITIZER
#endif
#endif
#ifdef TILEFOLD_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) (static_cast<void>(address), static_cast<void>(bytes))
#endif
