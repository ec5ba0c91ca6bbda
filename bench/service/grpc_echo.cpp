// SPDX-License-Identifier: BSD-3-Clause
//
// One unary echo of gRPC after the other, with certificates of both sides, between two processes of
// this machine: what a revoke over QUIC is held against. Prints what each took, in nanoseconds, one
// a line. The message is as long as LEASE_REVOKE's; no schema is needed for bytes.
//
//   grpc_echo AUTHORITY CERTIFICATE KEY CLIENT_CERTIFICATE CLIENT_KEY SAMPLES REST_MS
//
// REST_MS of nothing go before each.
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"

namespace {

using portcullis::Clock;
using portcullis::UniqueFd;

constexpr const char* kMethod = "/portcullis.Echo/Revoke";
constexpr std::size_t kMessageBytes = 40;  // LEASE_REVOKE, header and body

std::string text_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Answers what it was asked.
class Reactor final : public grpc::ServerGenericBidiReactor {
 public:
  Reactor() { StartRead(&message_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no message"));
    StartWriteAndFinish(&message_, {}, grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer message_;
};

class Echo final : public grpc::CallbackGenericService {
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    return new Reactor;
  }
};

/// Until it is killed; says its port first.
int serve(char** files, int tell) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = text_of(files[1]);
  options.pem_key_cert_pairs.push_back({text_of(files[3]), text_of(files[2])});
  Echo echo;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
  builder.RegisterCallbackGenericService(&echo);
  const auto server = builder.BuildAndStart();
  if (server == nullptr || ::write(tell, &port, sizeof port) != sizeof port) return 1;
  server->Wait();
  return 0;
}

/// A call that waits for its answer, as a synchronous stub makes it.
grpc::Status call(grpc::GenericStub& stub, const grpc::ByteBuffer& request) {
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto reader = stub.PrepareUnaryCall(&context, kMethod, request, &queue);
  grpc::ByteBuffer answer;
  grpc::Status status;
  reader->StartCall();
  reader->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (status.ok() && answer.Length() != request.Length())
    return {grpc::StatusCode::DATA_LOSS, "the echo is another message"};
  return status;
}

int ask(char** files, int port, std::uint64_t samples, std::chrono::milliseconds rest) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = text_of(files[1]);
  options.pem_private_key = text_of(files[5]);
  options.pem_cert_chain = text_of(files[4]);
  grpc::GenericStub stub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::SslCredentials(options)));
  const std::array<char, kMessageBytes> bytes{};
  const grpc::Slice slice(bytes.data(), bytes.size());
  const grpc::ByteBuffer request(&slice, 1);
  constexpr std::uint64_t kWarm = 50;  // connects, and fills caches
  for (std::uint64_t i = 0; i < kWarm + samples; ++i) {
    if (i >= kWarm && rest.count() > 0) std::this_thread::sleep_for(rest);
    const std::uint64_t since_ns = Clock::wall().now_ns();
    const grpc::Status status = call(stub, request);
    if (!status.ok()) {
      std::cerr << "grpc_echo: " << status.error_message() << '\n';
      return 1;
    }
    if (i >= kWarm) std::cout << Clock::wall().now_ns() - since_ns << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::cerr << "grpc_echo: AUTHORITY CERTIFICATE KEY CLIENT_CERTIFICATE CLIENT_KEY SAMPLES "
                 "REST_MS is accepted\n";
    return 2;
  }
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) return 1;
  const UniqueFd hear(ends[0]);
  UniqueFd tell(ends[1]);
  const pid_t server = ::fork();  // before gRPC has threads
  if (server == 0) ::_exit(serve(argv, tell.get()));
  tell.reset();
  int port = 0;
  const bool is_there = ::read(hear.get(), &port, sizeof port) == sizeof port;
  const int status = is_there ? ask(argv, port, std::stoull(argv[6]),
                                    std::chrono::milliseconds(std::stoul(argv[7])))
                              : 1;
  (void)::kill(server, SIGKILL);
  (void)::waitpid(server, nullptr, 0);
  return status;
}
