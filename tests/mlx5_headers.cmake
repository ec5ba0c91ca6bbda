# Sets mlx5_headers: where linux/mlx5/*.h of an installed kernel are, which judge prm/ and pmd/.
# Linux 6.1 (Debian 12), 6.8 (Ubuntu 24.04) and 6.12 (Debian 13) were read; another may move fields.
set(PORTCULLIS_MLX5_HEADERS "" CACHE PATH
    "linux/mlx5 of Linux 6.1 to 6.12; empty: the installed one")
set(mlx5_headers "${PORTCULLIS_MLX5_HEADERS}")
if(NOT mlx5_headers)
  file(GLOB mlx5_headers LIST_DIRECTORIES true
       /usr/src/linux-headers-6.1*-common/include/linux/mlx5
       /usr/src/linux-headers-6.8.0-*[0-9]/include/linux/mlx5)
  list(APPEND mlx5_headers NOTFOUND)
  list(GET mlx5_headers 0 mlx5_headers)
endif()
if(NOT EXISTS "${mlx5_headers}/mlx5_ifc.h")
  message(FATAL_ERROR "tests: no linux/mlx5/mlx5_ifc.h of Linux 6.1 to 6.12 in '${mlx5_headers}'; "
                      "install linux-headers-6.1*-common (Ubuntu: linux-headers-6.8.0-*) or set "
                      "PORTCULLIS_MLX5_HEADERS")
endif()
