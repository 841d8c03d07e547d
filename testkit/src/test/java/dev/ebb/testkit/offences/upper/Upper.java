package dev.ebb.testkit.offences.upper;

/** Lies above the package that uses it. */
public final class Upper {
  private Upper() {}

  public static void use() {}
}
