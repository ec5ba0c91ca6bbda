// SPDX-License-Identifier: BSD-3-Clause
//
// Result, Error and what passes them on are the front door's: a user and the libraries behind it
// speak of errors in the same words, and nothing has to be translated between them.
#pragma once

#include <portcullis/result.hpp>  // IWYU pragma: export
