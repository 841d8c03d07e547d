package dev.ebb.store;

/** The settings of the owner of a home for tenants; they are read and changed without an engine. */
public interface TenantRecords {
  /** Returns the keys that the daemon accepts. */
  OwnerLines keys();

  /** Returns the quotas of tenants. */
  OwnerLines quotas();
}
