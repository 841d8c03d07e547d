package dev.ebb.cgroup;

import dev.ebb.kernel.Fd;
import dev.ebb.kernel.KernelException;
import dev.ebb.kernel.Scope;
import dev.ebb.model.CgroupUsage;
import dev.ebb.model.Occupancy;
import dev.ebb.model.StallTimes;
import java.util.Optional;

/** What the kernel counts of the commands in one box. */
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

  /** Readable when the OOM killer is about to strike; empty where init need not be told. */
  Optional<Fd> oomEvents(Scope scope) throws KernelException;

  /** How often the OOM killer struck, as far as the kernel tells. */
  long oomKills() throws KernelException;

  /** What the commands used by the kernel's own count; empty where only init can tell. */
  Optional<CgroupUsage> usage() throws KernelException;

  /** What the commands take now; empty where no cgroup counts it. */
  Optional<Occupancy> occupancy() throws KernelException;

  /** What the commands had to wait for; empty where the kernel keeps no such account. */
  Optional<StallTimes> pressure() throws KernelException;
}
