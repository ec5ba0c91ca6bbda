// SPDX-License-Identifier: BSD-3-Clause
//
// Which sanitizer this build has, for the few places that must know: gcc says it by a macro of its
// own, clang by __has_feature.
#pragma once

#if defined(__has_feature)
#define PORTCULLIS_HAS_FEATURE(name) __has_feature(name)
#else
#define PORTCULLIS_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || PORTCULLIS_HAS_FEATURE(address_sanitizer)
#define PORTCULLIS_ASAN 1
#else
#define PORTCULLIS_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || PORTCULLIS_HAS_FEATURE(thread_sanitizer)
#define PORTCULLIS_TSAN 1
#else
#define PORTCULLIS_TSAN 0
#endif
