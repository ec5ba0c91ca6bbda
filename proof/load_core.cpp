// SPDX-License-Identifier: BSD-3-Clause
#include "proof/load_core.hpp"

#include <utility>

namespace portcullis::proof {

std::unique_ptr<LoadCore> LoadCore::take(std::function<void()> work) {
  std::unique_ptr<LoadCore> core(new LoadCore(std::move(work)));
  for (const unsigned lcore : pmd::Eal::worker_lcores()) {
    auto task = pmd::LcoreTask::launch(lcore, [at_work = core.get()] { at_work->run(); });
    if (!task) continue;  // the model's, say
    core->task_.emplace(std::move(*task));
    core->pause();
    return core;
  }
  return nullptr;
}

LoadCore::~LoadCore() {
  if (!task_) return;
  is_to_end_ = true;
  if (is_paused_) may_go_on_.release();
  task_.reset();
}

void LoadCore::run() {
  while (!is_to_end_) {
    if (is_to_pause_) {
      has_paused_.release();
      may_go_on_.acquire();
    } else {
      work_();
    }
  }
}

void LoadCore::pause() {
  if (std::exchange(is_paused_, true)) return;
  is_to_pause_ = true;
  has_paused_.acquire();
}

void LoadCore::resume() {
  if (!std::exchange(is_paused_, false)) return;
  is_to_pause_ = false;
  may_go_on_.release();
}

}  // namespace portcullis::proof
