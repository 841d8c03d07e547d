package dev.ebb.cgroup;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.Occupancy;
import dev.ebb.model.StallTimes;
import java.util.Optional;

/** The kernel's counts for the commands in one box. */
public interface Accounting {
  /** Where no cgroup counts anything. */
  Accounting NONE =
      new Accounting() {
        @Override
        public Optional<Fd> oomEvents(Scope scope) {
          return Optional.empty();
        }

        @Override
        public long oomKills() {
          return 0;
        }

        @Override
        public Optional<CgroupUsage> usage() {
          return Optional.empty();
        }

        @Override
        public Optional<Occupancy> occupancy() {
          return Optional.empty();
        }

        @Override
        public Optional<StallTimes> pressure() {
          return Optional.empty();
        }
      };

  /**
   * Returns a descriptor that is readable when the OOM killer is about to strike; empty where init
   * does not need it.
   */
  Optional<Fd> oomEvents(Scope scope) throws KernelException;

  /** Returns how often the OOM killer struck, as far as the kernel counts that. */
  long oomKills() throws KernelException;

  /** Returns what the commands used by the kernel's count; empty where only init knows. */
  Optional<CgroupUsage> usage() throws KernelException;

  /** Returns the present use of the commands; empty where no cgroup counts it. */
  Optional<Occupancy> occupancy() throws KernelException;

  /** Returns how long the commands stalled; empty where the kernel does not count that. */
  Optional<StallTimes> pressure() throws KernelException;
}
