package dev.ebb.server.service.access;

/**
 * The sender of a request.
 *
 * @param tenant the owner of the boxes that the caller sees; an admin sees all
 */
public record Caller(String tenant, Role role) {
  public static final String DEFAULT_TENANT = "default";

  /** A user who may open the unix socket owns the daemon. */
  public static final Caller OWNER = new Caller(DEFAULT_TENANT, Role.ADMIN);

  /** A caller that has not authenticated; no tenant has this name. */
  public static final Caller ANONYMOUS = new Caller("", Role.METRICS);

  public boolean isAdmin() {
    return role == Role.ADMIN;
  }

  public boolean mayTouch(String otherTenant) {
    return isAdmin() || tenant.equals(otherTenant);
  }
}
