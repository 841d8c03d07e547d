package dev.ebb.server.service.access;

/**
 * Whoever sent a request.
 *
 * @param tenant whose boxes they see; an admin sees all
 */
public record Caller(String tenant, boolean isAdmin) {
  public static final String DEFAULT_TENANT = "default";

  /** Whoever may use the unix socket owns the daemon. */
  public static final Caller OWNER = new Caller(DEFAULT_TENANT, true);

  /** Whoever has not said who they are: no tenant has this name. */
  public static final Caller NOBODY = new Caller("", false);

  public boolean mayTouch(String otherTenant) {
    return isAdmin || tenant.equals(otherTenant);
  }
}
