// SPDX-License-Identifier: BSD-3-Clause
//
// What the programs have in common that own one port: --device and --address, and how it is opened.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/open_device.hpp"
#include "base/result.hpp"
#include "pmd/gid.hpp"
#include "program/output_file.hpp"
#include "service/served_port.hpp"

namespace portcullis::tools {

/// --device and --address.
void add_port_options(CLI::App& app, std::string& device, std::optional<pmd::Gid>& address);
/// --address alone.
CLI::Option* add_address_option(CLI::App& app, std::optional<pmd::Gid>& address);

/// What the driver has to say goes to standard error; a recording that is lost is told at the end.
[[nodiscard]] Result<std::unique_ptr<service::ServedPort>> open_port(
    const attach::DeviceSpec& spec, const std::optional<pmd::Gid>& address,
    const std::optional<std::uint32_t>& vlan = std::nullopt);

/// `files` and what --device has written, for program::check_outputs().
[[nodiscard]] std::vector<program::WrittenFile> with_device_files(
    std::vector<program::WrittenFile> files, const attach::DeviceSpec& spec);

}  // namespace portcullis::tools
