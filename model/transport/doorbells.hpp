// SPDX-License-Identifier: BSD-3-Clause
//
// The send doorbell records of the QPs on each UAR. A kick of a UAR says only that some record may
// have moved, so all of them are read: one dense array a UAR, no QP touched that has no news.
#pragma once

#include <cstdint>
#include <vector>

#include "model/dma.hpp"
#include "model/transport/qp.hpp"

namespace portcullis::model {

class Doorbells {
 public:
  /// A QP whose producer index moved, and where to.
  struct News {
    Qp* qp = nullptr;
    std::uint16_t producer = 0;
  };

  void attach(Qp& qp);
  void detach(const Qp& qp) noexcept;
  /// Only a QP that sends (RTS) or flushes (ERR) is looked at; from here on with producer index 0
  /// as last seen when it had not been before.
  void listen(const Qp& qp, bool on) noexcept;
  void clear() noexcept { uars_.clear(); }

  /// Reads every record of `uar` with acquire; one that DMA cannot reach has counted its fault and
  /// has no news. Good until the next call.
  [[nodiscard]] std::vector<News>& scan(std::uint32_t uar, Dma& dma);

 private:
  struct Record {
    Iova address = 0;
    Qp* qp = nullptr;
    std::uint16_t seen = 0;
    bool listening = false;
  };
  [[nodiscard]] Record* find(const Qp& qp) noexcept;

  std::vector<std::vector<Record>> uars_;
  std::vector<News> news_;
};

}  // namespace portcullis::model
