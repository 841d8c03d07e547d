package dev.ebb.store;

/** What the owner of a home decides about tenants; no engine is needed to read or change it. */
public interface TenantRecords {
  /** The keys that open the daemon. */
  OwnerLines keys();

  /** The quotas of tenants. */
  OwnerLines quotas();
}
