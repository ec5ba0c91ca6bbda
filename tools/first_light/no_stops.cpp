// SPDX-License-Identifier: BSD-3-Clause
//
// first-light as it is installed: nobody hears where it has got to.
#include "tools/first_light/at_command.hpp"

namespace portcullis::tools::first_light {

AtCommand at_command() { return {}; }

}  // namespace portcullis::tools::first_light
