// SPDX-License-Identifier: BSD-3-Clause
//
// Where the installed include/linux/mlx5/mlx5_ifc.h puts the fields that the driver's commands use.
// In C, since that header is. A table ends with a row without name, the list of tables with null.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct ifc_field {
  const char* name;        // "layout.field"
  unsigned offset, width;  // bits
};

extern const struct ifc_field* const ifc_tables[];

#ifdef __cplusplus
}
#endif
