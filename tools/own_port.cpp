// SPDX-License-Identifier: BSD-3-Clause
#include "tools/own_port.hpp"

#include "attach/port.hpp"
#include "program/log_line.hpp"
#include "program/standard_streams.hpp"

namespace portcullis::tools {

void add_port_options(CLI::App& app, std::string& device, std::optional<pmd::Gid>& address) {
  app.add_option(
         "--device", device,
         "a PCI address such as 0000:03:00.0 (doctor helps), mlx5_0,\n"
         "or shm:PATH, of hca-server --shm PATH; a model in this process is on nobody's wire")
      ->type_name("SPEC")
      ->required();
  add_address_option(app, address);
}

CLI::Option* add_address_option(CLI::App& app, std::optional<pmd::Gid>& address) {
  return app
      .add_option_function<std::string>(
          "--address",
          [&address](const std::string& text) {
            auto gid = attach::parse_port_address(text);
            if (!gid) throw CLI::ValidationError("--address", gid.error().text);
            address = *gid;
          },
          "the port's RoCE address (default its link-local IPv6 address)")
      ->type_name("IP");
}

Result<std::unique_ptr<service::ServedPort>> open_port(const attach::DeviceSpec& spec,
                                                       const std::optional<pmd::Gid>& address,
                                                       const std::optional<std::uint32_t>& vlan) {
  return service::ServedPort::open(spec, {.address = address,
                                          .vlan = vlan,
                                          .log = program::log_to_stderr(),
                                          .on_recording_lost = program::note_lost_file});
}

std::vector<program::WrittenFile> with_device_files(std::vector<program::WrittenFile> files,
                                                    const attach::DeviceSpec& spec) {
  const auto* const model = std::get_if<model::Options>(&spec.kind);
  files.push_back({"--device trace=", model != nullptr ? model->trace_path : spec.trace_path});
  if (model != nullptr) files.push_back({"--device pcap=", model->pcap_path});
  return files;
}

}  // namespace portcullis::tools
