// SPDX-License-Identifier: BSD-3-Clause
//
// Marks what libportcullis.so shows; everything else in it is hidden.
#pragma once
/// Stands before everything that programs may link against.
#define PORTCULLIS_API __attribute__((visibility("default")))
